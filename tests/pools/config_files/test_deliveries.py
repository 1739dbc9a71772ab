"""A delivery is one module and one line of the registry: nothing else asks which one a pooler has."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from pools.config_files import deliveries, folder_owner, pooler_files
from pools.config_files.deliveries.base import Contents, FileDelivery
from pools.deployment import live_files
from pools.errors import LockLost
from pools.hosts.base import Access, HostConnection, PlacedFile
from pools.models import Pooler


class Shelf(FileDelivery):
    """Keeps files in memory, as a pooler's host that fetches them might."""

    name = "pull"
    writes = False

    def __init__(self) -> None:
        self.held: dict[tuple[str, str], bytes] = {}

    def place_of(self, pooler: Pooler) -> str:
        return "shelf"

    @contextmanager
    def connected(self, pooler: Pooler) -> Iterator[HostConnection | None]:
        yield None

    def read(self, pooler: Pooler, folder: str, names: Sequence[str]) -> dict[str, bytes | None]:
        return {name: self.held.get((folder, name)) for name in names}

    def replace(
        self, pooler: Pooler, folder: str, contents: Contents, of_new: Access | None = None, before_retry: object = None
    ) -> None:
        self.held |= {(folder, name): content for name, content in contents.items() if content is not None}

    def refuse_unsafe(self, pooler: Pooler, folder: str) -> None:
        return

    def file_at(self, pooler: Pooler, path: str, *, follow: bool = True) -> PlacedFile | None:
        return None


@pytest.fixture
def shelf(monkeypatch: pytest.MonkeyPatch) -> Shelf:
    """A registered delivery."""
    made = Shelf()
    monkeypatch.setattr(deliveries, "DELIVERIES", {**deliveries.DELIVERIES, made.name: made})
    return made


def test_another_delivery_is_a_module_and_a_line(shelf: Shelf, db: None) -> None:
    pooler = Pooler.objects.create(name="pulled", host="10.0.0.1", config_dir="/etc/pb", delivery="pull")
    pooler_files.replace(pooler, {"pgbouncer.ini": b"[databases]\n"})
    assert pooler_files.read(pooler, ["pgbouncer.ini", "userlist.txt"]) == {
        "pgbouncer.ini": b"[databases]\n",
        "userlist.txt": None,
    }
    assert live_files.on_disk(pooler) == {"pgbouncer.ini": "[databases]\n"}
    with pytest.raises(FileNotFoundError):
        pooler_files.text_at(pooler, "/etc/pb/other.ini")


def test_who_loses_the_lock_between_two_folders_writes_no_second_one(shelf: Shelf, db: None) -> None:
    paths = {"pgbouncer.ini": "/etc/pb/pgbouncer.ini", "pooldeck.ini": "/etc/pb/pooldeck.ini", "userlist.txt": "/x/u"}
    pooler = Pooler.objects.create(
        name="pulled", host="10.0.0.1", config_dir="/etc/pb", delivery="pull", file_paths=paths
    )
    assert pooler.take_apply_lock("this worker")
    pooler_files.replace(pooler, {"pgbouncer.ini": b"1", "userlist.txt": b"1"})
    assert Pooler.objects.get().take_apply_lock("another", dead="this worker")
    with pytest.raises(LockLost, match="another worker took over pooler pulled while its files were written"):
        pooler_files.replace(pooler, {"pgbouncer.ini": b"2", "userlist.txt": b"2"})
    assert shelf.held == {("/x", "u"): b"2", ("/etc/pb", "pgbouncer.ini"): b"1"}


def test_files_that_no_worker_has_are_any_workers(shelf: Shelf, db: None) -> None:
    pooler = Pooler.objects.create(
        name="pulled", host="10.0.0.1", config_dir="/etc/pb", delivery="pull", generator="elsewhere"
    )
    owner = folder_owner.of(pooler)
    assert (owner.is_here, owner.worker) == (True, "")
    pooler.edit(None, delivery="worker")
    assert folder_owner.of(pooler).worker == "elsewhere"


def test_one_folder_is_two_where_it_lies_on_two_hosts(shelf: Shelf, db: None) -> None:
    pulled = Pooler.objects.create(name="pulled", host="10.0.0.1", config_dir="/etc/pb", delivery="pull")
    by_worker = Pooler.objects.create(name="by worker", host="10.0.0.1", config_dir="/etc/pb")
    assert list(deliveries.others_in(by_worker, "/etc/pb")) == []
    same = Pooler.objects.create(name="same", host="10.0.0.1", port=6433, config_dir="/etc/pb")
    assert list(deliveries.others_in(by_worker, "/etc/pb")) == [same]
    assert list(deliveries.others_in(pulled, "/etc/pb")) == []
