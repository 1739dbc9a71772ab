"""A pooler's host fetches its files: by a sidecar, an Ansible task or a job; the panel writes nothing there."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from pools.config_files.deliveries.base import Contents, FileDelivery
from pools.errors import ApplyFailed
from pools.hosts.base import Access, HostConnection, PlacedFile
from pools.models import Pooler, Revision


class PullDelivery(FileDelivery):
    """The delivery `pull`; see `FileDelivery`. What it reads are the files that are offered, not those on the host."""

    label = _("its host fetches them")
    writes = False

    def place_of(self, pooler: Pooler) -> str:
        """Return the pooler itself: nobody knows which of them share a host, and each fetches its own files."""
        return f"pull:{pooler.pk}"

    @contextmanager
    def connected(self, pooler: Pooler) -> Iterator[HostConnection | None]:
        yield None

    def read(self, pooler: Pooler, folder: str, names: Sequence[str]) -> dict[str, bytes | None]:
        """Return the files that the pooler shall have; None for those that are not the panel's."""
        revision = Revision.objects.wanted_on(pooler)
        texts = revision.files if revision else {}
        return {name: texts[name].encode(errors="surrogateescape") if name in texts else None for name in names}

    def replace(
        self,
        pooler: Pooler,
        folder: str,
        contents: Contents,
        of_new: Access | None = None,
        before_retry: Callable[[], object] | None = None,
    ) -> None:
        """Raise `ApplyFailed`: an apply offers the files."""
        raise ApplyFailed(
            gettext("the files of pooler %(pooler)s are fetched, so the panel writes none") % {"pooler": pooler}
        )

    def refuse_unsafe(self, pooler: Pooler, folder: str) -> None:
        """Do nothing: the folder can't be seen from here."""

    def file_at(self, pooler: Pooler, path: str, *, follow: bool = True) -> PlacedFile | None:
        """Return None: no file of the operator's can be read from here."""
        return None


DELIVERY = PullDelivery()
