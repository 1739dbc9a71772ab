"""The chain of entries: each carries the SHA-256 of the entry before and of itself.

Whoever edits a row breaks its hash, and whoever removes one breaks the next one's `previous` or leaves a gap in the
numbers. A chain that was cut at its end, or forged from some row to its end, is found with a head that was saved
elsewhere: see `Head`.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils.translation import gettext as _

from core.audit.models import Entry

START = "0" * 64
LOCK = 0x706F6F6C6465636B  # pg_advisory_xact_lock takes a number: "pooldeck"
PRUNE = "audit.prune"
PORTION = 2000
HASHED = [field.attname for field in Entry._meta.fields if field.name != "hash"]


class Broken(Exception):
    """The chain does not hold; the message names the first row that shows it."""


@dataclass(frozen=True)
class Head:
    """The last entry's number and hash, as `verify_audit` prints it and takes it again."""

    number: int
    hash: str

    def __str__(self) -> str:
        return f"{self.number}:{self.hash}"

    @classmethod
    def parse(cls, text: str) -> "Head":
        """Read `NUMBER:HASH`. Raises `ValueError`."""
        number, _colon, digest = text.partition(":")
        if len(digest) != len(START):
            raise ValueError(_("%(text)r is not NUMBER:HASH, as verify_audit prints it") % {"text": text})
        return cls(int(number), digest)


def hash_of(entry: Entry) -> str:
    """Return the SHA-256 in hex of the entry's columns in their order, as a JSON list."""
    columns = [_plain(getattr(entry, name)) for name in HASHED]
    return hashlib.sha256(json.dumps(columns, ensure_ascii=False).encode()).hexdigest()


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="microseconds")
    return str(value) if isinstance(value, UUID) else value


def lock(connection: BaseDatabaseWrapper) -> None:
    """Let nobody else append until the end of the running transaction; once more is no harm."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])


def _check_foreign_keys(connection: BaseDatabaseWrapper) -> None:
    """Let the transaction take now what row locks its commit would take; Django's foreign keys are deferred."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")


def append(connection: BaseDatabaseWrapper, entries: list[Entry]) -> None:
    """Insert the entries, numbered and chained; the connection is in the transaction that they belong to.

    Those who append wait for each other until they have committed. SQLite lets one transaction write at a time anyway.
    Foreign keys are checked first: the commit would check them while it holds the chain, and wait for rows that
    somebody has locked who waits for the chain.
    """
    _check_foreign_keys(connection)
    lock(connection)
    head = head_of_chain(connection.alias)
    for entry in entries:
        entry.number, entry.previous = head.number + 1, head.hash
        entry.hash = hash_of(entry)
        head = Head(entry.number, entry.hash)
    Entry._base_manager.using(connection.alias).bulk_create(entries)


def head_of_chain(using: str = "default") -> Head:
    """Return the last entry's number and hash; 0 and zeros where there is none."""
    found = Entry._base_manager.using(using).order_by("-number").values_list("number", "hash").first()
    return Head(*found) if found else Head(0, START)


def verify(saved: Head | None = None) -> Head:
    """Read the whole chain and return its head. Raises `Broken` at the first row that does not fit.

    `saved` is a head of this chain from earlier: its row has to be there still, as it was.
    """
    head = _verified(_in_order(), saved)
    if saved and head.number < saved.number:
        raise Broken(
            _("entry %(number)d is missing at the end: the chain ends at %(last)d")
            % {"number": head.number + 1, "last": head.number}
        )
    return head


def _in_order() -> Iterator[Entry]:
    """Yield all entries; in portions, so that a long trail neither fills memory nor keeps a transaction open."""
    last = 0
    while entries := list(Entry._base_manager.filter(number__gt=last).order_by("number")[:PORTION]):
        yield from entries
        last = entries[-1].number


def _verified(entries: Iterator[Entry], saved: Head | None) -> Head:
    head = None
    for entry in entries:
        if head is None:
            head = _before_first(entry)
            _check_saved(head, saved)
        _check(entry, head)
        head = Head(entry.number, entry.hash)
        if saved and saved.number == head.number and saved != head:
            raise Broken(_("entry %(number)d is not the one whose hash was saved") % {"number": head.number})
    return head or Head(0, START)


def _check_saved(anchor: Head, saved: Head | None) -> None:
    """Refuse a head whose entry the retention removed: nothing could tell this chain from one that was written anew."""
    if saved and saved.number < anchor.number:
        raise Broken(
            _("entry %(number)d is gone, since the retention removed all up to %(last)d: give a head that is newer")
            % {"number": saved.number, "last": anchor.number}
        )
    if saved and saved.number == anchor.number and saved != anchor:
        raise Broken(_("entry %(number)d is not the one whose hash was saved") % {"number": anchor.number})


def _before_first(entry: Entry) -> Head:
    """Return the head that the first row has to follow: the start, or the last row that the retention removed."""
    if entry.number == 1:
        return Head(0, START)
    pruned = Entry._base_manager.filter(action=PRUNE).order_by("-number").first()
    anchor = pruned.fields.get("after", {}) if pruned else {}
    if anchor.get("through") != entry.number - 1:
        raise Broken(_("entry %(number)d is missing: it was removed") % {"number": entry.number - 1})
    return Head(entry.number - 1, str(anchor.get("hash")))


def _check(entry: Entry, before: Head) -> None:
    if entry.number != before.number + 1:
        raise Broken(_("entry %(number)d is missing: it was removed") % {"number": before.number + 1})
    if entry.previous != before.hash:
        raise Broken(_("entry %(number)d does not follow the one before it") % {"number": entry.number})
    if entry.hash != hash_of(entry):
        raise Broken(_("entry %(number)d was changed after it was written") % {"number": entry.number})
