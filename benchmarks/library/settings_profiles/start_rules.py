"""What a server checks of several settings together while it starts, and its program's `--check` does not; pure.

From PostmasterMain (src/backend/postmaster/postmaster.c), and from what it brings back: replication slots
(src/backend/replication/slot.c) and prepared transactions (src/backend/access/transam/twophase.c). It can be said of
any server that answers, wherever it runs.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from django.utils.translation import gettext as _

SETTINGS = (
    *("max_connections", "superuser_reserved_connections", "reserved_connections", "wal_level", "archive_mode"),
    *("max_wal_senders", "max_replication_slots", "max_prepared_transactions"),
)
KEPT = """
    SELECT (SELECT count(*) FROM pg_replication_slots),
           (SELECT count(*) FROM pg_replication_slots WHERE slot_type = 'logical'),
           (SELECT count(*) FROM pg_prepared_xacts)
"""
MINIMAL, LOGICAL = "minimal", "logical"
Broken = tuple[tuple[str, ...], str]  # the settings that a rule is about, and why they keep the server from starting


@dataclass(frozen=True)
class PersistentObjects:
    """The objects that the server has to bring back at its next start."""

    slots: int = 0
    logical_slots: int = 0
    prepared: int = 0


def broken(settings: Mapping[str, str], kept: PersistentObjects) -> Iterator[Broken]:
    """Yield the faults that would keep a server with these settings, as pg_settings has them, from starting."""
    yield from _of_connections(settings)
    yield from _of_wal(settings)
    yield from _of_what_is_kept(settings, kept)


def _of_connections(settings: Mapping[str, str]) -> Iterator[Broken]:
    names = ("max_connections", "superuser_reserved_connections", "reserved_connections")
    most, *reserved = (int(settings.get(name, 0)) for name in names)
    if most <= sum(reserved):
        text = _(
            "max_connections (%(most)s) has to be more than the reserved connections (%(reserved)s), or the server "
            "does not start"
        )
        yield names, text % {"most": most, "reserved": sum(reserved)}


def _of_wal(settings: Mapping[str, str]) -> Iterator[Broken]:
    if settings.get("wal_level") != MINIMAL:
        return
    if settings.get("archive_mode", "off") != "off":
        yield (
            ("wal_level", "archive_mode"),
            _("with wal_level minimal the server starts only with archive_mode off"),
        )
    if int(settings.get("max_wal_senders", 0)):
        yield (
            ("wal_level", "max_wal_senders"),
            _("with wal_level minimal the server starts only with max_wal_senders 0"),
        )


def _of_what_is_kept(settings: Mapping[str, str], kept: PersistentObjects) -> Iterator[Broken]:
    wal_level = settings.get("wal_level", LOGICAL)
    if (kept.logical_slots and wal_level != LOGICAL) or (kept.slots and wal_level == MINIMAL):
        text = _("with wal_level %(level)s the server does not start while it has replication slots that need more")
        yield ("wal_level",), text % {"level": wal_level}
    for name, count, text in (
        (
            "max_replication_slots",
            kept.slots,
            _("the server has %(count)s replication slots, and does not start with fewer in max_replication_slots"),
        ),
        (
            "max_prepared_transactions",
            kept.prepared,
            _(
                "the server has %(count)s prepared transactions, and does not start with fewer in "
                "max_prepared_transactions"
            ),
        ),
    ):
        if count > int(settings.get(name, count)):
            yield (name,), text % {"count": count}
