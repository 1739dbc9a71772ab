"""A worker on the pooler's host writes its files."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.utils.translation import gettext_lazy as _

from pools.config_files.deliveries.base import ByHost
from pools.hosts.base import HostConnection
from pools.hosts.worker import WorkerConnection
from pools.models import Pooler


class WorkerDelivery(ByHost):
    """The delivery `worker`; see `FileDelivery`."""

    label = _("a worker on its host writes them")
    needs_worker = True
    runs_here = True

    def place_of(self, pooler: Pooler) -> str:
        """Return the generator whose workers have the folder."""
        return f"generator:{pooler.generator}"

    @contextmanager
    def host_of(self, pooler: Pooler) -> Iterator[HostConnection]:
        yield WorkerConnection()


DELIVERY = WorkerDelivery()
