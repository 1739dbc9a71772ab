"""The panel itself writes files on the pooler's host, by SSH."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.utils.translation import gettext as _

from panel.lib.addresses import is_local
from pools.config_files.deliveries.base import ByHost
from pools.errors import HostUnreachable
from pools.hosts import kept
from pools.hosts.base import HostConnection
from pools.models import Delivery, Host, Pooler


class SshDelivery(ByHost):
    """The delivery `ssh`; see `FileDelivery`. Any worker can do it, over the login that it keeps to the host."""

    name = Delivery.SSH
    needs_host = True

    def place_of(self, pooler: Pooler) -> str:
        """Return the host."""
        return f"host:{pooler.ssh_host_id}"

    @contextmanager
    def host_of(self, pooler: Pooler) -> Iterator[HostConnection]:
        with kept.connected(_host(pooler)) as host:
            yield host

    def begin_anew(self, pooler: Pooler) -> None:
        """Log in again for the next use."""
        if pooler.ssh_host:
            kept.forget(pooler.ssh_host)

    def address_of(self, pooler: Pooler, port: int) -> tuple[str, int]:
        """Lead through the login where the pooler's address is one that only its own host knows."""
        if is_local(pooler.host):
            return kept.tunnel(_host(pooler), pooler.host, port)
        return pooler.host, port


def _host(pooler: Pooler) -> Host:
    if pooler.ssh_host is None:
        raise HostUnreachable(_("pooler %(pooler)s has no host to reach by SSH: choose one") % {"pooler": pooler})
    return pooler.ssh_host
