"""What a delivery is: one way in which the panel's files reach the poolers that it manages."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

from pools.hosts.base import Access, HostConnection, PlacedFile
from pools.models import Pooler

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

Contents = Mapping[str, bytes | None]


class FileDelivery(ABC):
    """One way of delivery: a module here that ends with `DELIVERY`, and its name in the registry.

    Nothing else asks which way a pooler has.

    `writes`: the panel writes the files itself, so that an apply can reload the pooler at once; else somebody fetches
    them, and an apply is pending until the console shows what they say. `needs_worker`: only the workers of the
    generator that has the folder can work there, else those of any. `runs_here`: the pooler's processes may be among
    those of the host of such a worker. `needs_host`: the pooler names a `Host`.
    """

    label: "StrOrPromise"  # as the form and the pooler's page name it
    writes = True
    needs_worker = False
    runs_here = False
    needs_host = False

    def address_of(self, pooler: Pooler, port: int) -> tuple[str, int]:
        """Return host and port that lead to a port of the pooler from here, as libpq takes them.

        Where its `host` is a path and the port is 0, it is that of a socket, see `HostConnection.tunnel`.

        Raises `HostUnreachable`.
        """
        return pooler.host, port

    def is_tunneled(self, pooler: Pooler) -> bool:
        """Return whether the pooler is reached through the login to its host alone."""
        return False

    def has_reconnected(self, pooler: Pooler, port: int, since: float) -> bool:
        """Return whether another try may succeed after one came to no answer: the way is newer than `since`.

        Raises `PoolerUnreachable` where the way itself ends before the pooler, with the reason.
        """
        return False

    @abstractmethod
    def place_of(self, pooler: Pooler) -> str:
        """Return a key of the host that its folder lies on: the same path is another folder on another host."""

    @abstractmethod
    def connected(self, pooler: Pooler) -> AbstractContextManager[HostConnection | None]:
        """Give a connection to its host, to run programs there and see its processes; None where there is no way.

        Raises `HostUnreachable`.
        """

    @abstractmethod
    def read(self, pooler: Pooler, folder: str, names: Sequence[str]) -> dict[str, bytes | None]:
        """Read files of one folder; None where there is none. Raises `UnsafeFolder`, `HostUnreachable`."""

    @abstractmethod
    def replace(
        self,
        pooler: Pooler,
        folder: str,
        contents: Contents,
        of_new: Access | None = None,
        before_retry: Callable[[], object] | None = None,
    ) -> None:
        """Replace files of one folder at one moment, see `HostConnection.replace`.

        Raises `UnsafeFolder`, `ApplyFailed` where nothing was changed, `HostUnreachable` where that is unknown.
        """

    @abstractmethod
    def refuse_unsafe(self, pooler: Pooler, folder: str) -> None:
        """Raise `UnsafeFolder` unless configuration can be kept in the folder, `HostUnreachable`."""

    @abstractmethod
    def file_at(self, pooler: Pooler, path: str, *, follow: bool = True) -> PlacedFile | None:
        """Read a regular file of the operator's; None where there is none. Raises `OSError`, `HostUnreachable`."""


class ByHost(FileDelivery):
    """A delivery that does all by a connection to the pooler's host."""

    @abstractmethod
    def host_of(self, pooler: Pooler) -> AbstractContextManager[HostConnection]:
        """Give a connection to its host. Raises `HostUnreachable`."""

    @contextmanager
    def connected(self, pooler: Pooler) -> Iterator[HostConnection | None]:
        with self.host_of(pooler) as host:
            yield host

    def read(self, pooler: Pooler, folder: str, names: Sequence[str]) -> dict[str, bytes | None]:
        with self.host_of(pooler) as host:
            return host.read(folder, names)

    def replace(
        self,
        pooler: Pooler,
        folder: str,
        contents: Contents,
        of_new: Access | None = None,
        before_retry: Callable[[], object] | None = None,
    ) -> None:
        with self.host_of(pooler) as host:
            host.replace(folder, contents, of_new, before_retry)

    def refuse_unsafe(self, pooler: Pooler, folder: str) -> None:
        with self.host_of(pooler) as host:
            host.refuse_unsafe(folder)

    def file_at(self, pooler: Pooler, path: str, *, follow: bool = True) -> PlacedFile | None:
        with self.host_of(pooler) as host:
            return host.file_at(path, follow=follow)
