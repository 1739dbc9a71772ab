"""The machine that a run's load is started on, by its generator: this worker's, or a host that it reaches by SSH."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

from django.utils.translation import gettext as _

from benchmarks.errors import Refused
from benchmarks.models import Generator, Run
from benchmarks.processes.host_machine import HostMachine
from benchmarks.processes.machines import Machine, ThisMachine
from core.lib import addresses
from core.lib.addresses import is_loopback
from pools.clusters.endpoints import Endpoint
from pools.hosts import ssh

ANSWERS_WITHIN_S = 2.0


@contextmanager
def of_run(run: Run) -> Iterator[Machine]:
    """Give the machine of the run's generator; raises `HostUnreachable`."""
    generator = Generator.objects.filter(name=run.generator).select_related("ssh_host").first()
    if generator is None or generator.ssh_host is None:
        yield ThisMachine()
        return
    with ssh.connected(generator.ssh_host) as connection:
        yield HostMachine(connection)


def is_by_ssh(name: str) -> bool:
    """Test whether the generator is a host that workers reach by SSH."""
    return Generator.objects.filter(name=name, ssh_host__isnull=False).exists()


def guard_address(run: Run, endpoint: Endpoint) -> None:
    """Refuse an address that means another server on the load's host, which would be sent the password there."""
    generator = Generator.objects.filter(name=run.generator, ssh_host__isnull=False).select_related("ssh_host").first()
    host = generator.ssh_host if generator else None
    if host is None or not (endpoint.is_socket or is_loopback(endpoint.host)) or is_loopback(host.address):
        return
    text = _(
        "%(address)s is another server on host %(host)s than here, and would be sent the password: register the server "
        "with an address that the host reaches"
    )
    raise Refused(text % {"address": endpoint.address, "host": host.name})


def pinned(machine: Machine, endpoint: Endpoint) -> Endpoint:
    """Return the endpoint with the address that its name is judged by now, which the load program then connects to.

    Of several addresses it is the first that answers. A name that is not found is left to the program to report, and a
    host by SSH resolves names in its own network. Raises `Refused` for a forbidden address.
    """
    if not isinstance(machine, ThisMachine) or not addresses.is_name(endpoint.host):
        return endpoint
    try:
        found = addresses.resolve(endpoint.host, endpoint.port)
    except OSError:
        return endpoint
    if reason := addresses.refusal_of(endpoint.host, endpoint.port, found):
        raise Refused(reason)
    first = next((one for one in found if _answers(one, endpoint.port)), found[0]) if len(found) > 1 else found[0]
    return replace(endpoint, hostaddr=first)


def _answers(address: str, port: int) -> bool:
    with suppress(OSError), socket.create_connection((address, port), ANSWERS_WITHIN_S):
        return True
    return False
