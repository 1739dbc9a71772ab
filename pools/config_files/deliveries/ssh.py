"""The panel itself writes files on the pooler's host, by SSH."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from core.lib.addresses import is_local
from pools.config_files.deliveries.base import ByHost
from pools.errors import HostUnreachable, PoolerUnreachable
from pools.hosts import kept
from pools.hosts.base import HostConnection
from pools.hosts.keys import socket_path
from pools.hosts.ssh import PROHIBITED
from pools.models import Host, Pooler


class SshDelivery(ByHost):
    """The delivery `ssh`; see `FileDelivery`. Any worker can do it, over the login that it keeps to the host."""

    label = _("the panel writes them by SSH")
    needs_host = True

    def place_of(self, pooler: Pooler) -> str:
        """Return `host:` and the id of the record of the host."""
        return f"host:{pooler.ssh_host_id}"

    @contextmanager
    def host_of(self, pooler: Pooler) -> Iterator[HostConnection]:
        with kept.connected(_host(pooler)) as host:
            yield host

    def address_of(self, pooler: Pooler, port: int) -> tuple[str, int]:
        """Lead through the login where the pooler's address is one that only its own host knows."""
        if self.is_tunneled(pooler):
            return kept.tunnel(_host(pooler), pooler.host, port)
        return pooler.host, port

    def is_tunneled(self, pooler: Pooler) -> bool:
        return is_local(pooler.host)

    def has_reconnected(self, pooler: Pooler, port: int, since: float) -> bool:
        """Return whether its host refused the tunnel, and is logged in to anew."""
        if not self.is_tunneled(pooler):
            return False
        host = _host(pooler)
        words, is_renewed = kept.refusal(host, pooler.host, port, since)
        if words and not is_renewed:
            raise PoolerUnreachable.at(pooler, _refusal(pooler, host, port, words))
        return is_renewed


def _refusal(pooler: Pooler, host: Host, port: int, words: str) -> str:
    """Translate ssh's message, and add the remedy where the host itself refused the tunnel."""
    at = _named(pooler.host, port)
    params = {"pooler": pooler, "host": host, "user": host.user, "at": at, "reason": words.rpartition(": ")[2]}
    if PROHIBITED not in words:
        return gettext("pooler %(pooler)s does not answer at %(at)s of host %(host)s: %(reason)s") % params
    text = gettext(
        "host %(host)s lets no tunnel of the panel's lead to %(at)s: find the poolers there on the host's page, and "
        "put the line that it shows then in place of the panel's old one in authorized_keys of %(user)s; where it is "
        "there, AllowTcpForwarding, AllowStreamLocalForwarding or PermitOpen of its sshd_config forbids it"
    )
    return text % params


def _named(address: str, port: int) -> str:
    if not address.startswith("/"):
        return f"{address} port {port}"
    return socket_path(address, port) if port else address


def _host(pooler: Pooler) -> Host:
    if pooler.ssh_host is None:
        raise HostUnreachable(gettext("pooler %(pooler)s has no host to reach by SSH: choose one") % {"pooler": pooler})
    return pooler.ssh_host


DELIVERY = SshDelivery()
