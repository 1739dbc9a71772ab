"""The machine that a run's load is started on, by its generator: this worker's, or a host that it reaches by SSH."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.utils.translation import gettext as _

from benchmarks.errors import Refused
from benchmarks.models import Generator, Run
from benchmarks.processes.host_machine import HostMachine
from benchmarks.processes.machines import Machine, ThisMachine
from core.lib.addresses import is_loopback
from pools.clusters.endpoints import Endpoint
from pools.hosts import ssh


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
