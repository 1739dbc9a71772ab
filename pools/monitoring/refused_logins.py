"""The logins that a pooler refused within the last minute, and those that its servers refused to it, by its log.

No console counts them. The worker that has the pooler's files reads, twice a minute, what its logs have gained, and
keeps in Redis where it came to and what it found; whoever judges or shows it reads that.
"""

import json
import logging
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import NotRequired, TypedDict
from uuid import UUID

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from pools.config_files import deliveries
from pools.diagnosis import log_reasons
from pools.errors import PoolsError
from pools.hosts.base import LogPosition
from pools.models import Pooler
from pools.monitoring import redis_store
from pools.monitoring.redis_store import SharingDown
from pools.poolers import KINDS
from pools.poolers.pooler_log import LoginLog, LogLine, LogNews

logger = logging.getLogger(__name__)

EVERY_S = 30
WINDOW_S = 60.0
STALE_S = 120.0  # A count that is older tells of a time that is over.
KEPT_S = 600  # After a longer pause the next reading starts at the end of the log: what is in between is no news.
PATHS_KNOWN_S = 300.0  # Which files are the logs is looked up again after that, in the settings of each process.
NAMED = 3  # users, databases and addresses in the message of an event
UNUSUAL = re.compile(r"[^\w.@:+-]")  # A client chooses these names, and a message may lead anywhere.
LONGEST_NAME = 63
PORT = re.compile(r"(?:\(\d+\))?:\d+$")
Counts = dict[str, int]


class Reading(TypedDict):
    """What a log gained from one moment to another (Unix, s): its refusals, counted by each of `Refusals`' parts."""

    since: float
    until: float
    reasons: Counts
    users: Counts
    databases: Counts
    addresses: Counts
    skipped: int


class ReadLog(TypedDict):
    """What Redis keeps of a pooler: the last readings, where they came to, and why there is no newer one.

    `at`: the last try to read; `read_at`: the last one that came to `positions`, which is what the next counts from.
    """

    place: str
    at: float
    unread: str
    readings: list[Reading]
    positions: dict[str, tuple[int, int]]
    read_at: NotRequired[float]
    paths: NotRequired[list[str]]
    paths_at: NotRequired[float]


@dataclass(frozen=True)
class Refusals:
    """The refused logins of a pooler within a minute, the most frequent first; `unknown`: why they are not counted.

    `is_partial`: the log grew faster than it was read, and there may be more.
    """

    per_minute: float = 0.0
    at: float = 0.0
    unknown: str = ""
    reasons: tuple[tuple[str, int], ...] = ()
    users: tuple[tuple[str, int], ...] = ()
    databases: tuple[tuple[str, int], ...] = ()
    addresses: tuple[tuple[str, int], ...] = ()
    is_partial: bool = False

    @property
    def count(self) -> int:
        """How many logins were refused within a minute, to the whole one."""
        return round(self.per_minute)

    @property
    def message(self) -> str:
        """The sentence for its event."""
        text = ngettext(
            "%(count)s login within a minute was refused: %(reasons)s",
            "%(count)s logins within a minute were refused: %(reasons)s",
            self.count,
        )
        parts = [text % {"count": self.count, "reasons": _listed(self.reasons)}]
        if self.users:
            parts.append(_("users: %(names)s") % {"names": _listed(self.users)})
        if self.databases:
            parts.append(_("databases: %(names)s") % {"names": _listed(self.databases)})
        if self.addresses:
            parts.append(_("addresses: %(names)s") % {"names": _listed(self.addresses)})
        if self.is_partial:
            parts.append(_("there may be more: the log grows faster than it is read"))
        return "; ".join(parts)


def obstacle(pooler: Pooler) -> str:
    """Return why the log of a pooler is never read, by its kind and how it is managed; empty where it is."""
    if KINDS[pooler.kind].login_log is None:
        text = _("the panel reads no log of %(kind)s, so refused logins are not counted")
        return text % {"kind": pooler.get_kind_display()}
    if pooler.is_watched:
        return _("the panel only watches it and knows none of its files: take it over to have refused logins counted")
    if not deliveries.of(pooler).writes:
        return _("its files are fetched, and the panel has no way to its host, so refused logins are not counted")
    return ""


def readable() -> list[Pooler]:
    """Return the poolers whose log can be read by a worker."""
    managed = Pooler.objects.managed().select_related("ssh_host__jump__jump")
    return [pooler for pooler in managed if not obstacle(pooler)]


def count(pooler: Pooler) -> None:
    """Read what the logs of a pooler gained since the last time, unless another task did a moment ago.

    Without Redis nothing is read: a count that nobody could add up.
    """
    login_log, now = KINDS[pooler.kind].login_log, time.time()
    with suppress(SharingDown):
        if login_log is None or not redis_store.claim(f"refused-logins-read:{pooler.pk}", EVERY_S / 2):
            return
        kept = _read_log_of(pooler)
        if fault := _fault_of_reading(pooler, login_log, kept, now):
            kept |= {"at": now, "unread": fault, "paths_at": 0.0}
        redis_store.keep(_key(pooler.pk), kept, KEPT_S)


def of(poolers: Iterable[Pooler]) -> dict[UUID, Refusals]:
    """Return what is known of each pooler by its id, in one round trip. Raises `SharingDown`."""
    listed = list(poolers)
    known = [pooler for pooler in listed if not obstacle(pooler)]
    texts = redis_store.read_bytes(_key(pooler.pk) for pooler in known)
    kept = (json.loads(text) if text else None for text in texts)
    found = {pooler.pk: _refusals(one) for pooler, one in zip(known, kept, strict=True)}
    return {pooler.pk: found.get(pooler.pk) or Refusals(unknown=obstacle(pooler)) for pooler in listed}


def of_one(pooler: Pooler) -> Refusals:
    """Return what is known of a pooler, also without Redis."""
    try:
        return of([pooler])[pooler.pk]
    except SharingDown:
        return Refusals(unknown=_("Redis can't be reached, so refused logins are not counted"))


def _fault_of_reading(pooler: Pooler, login_log: LoginLog, kept: ReadLog, now: float) -> str:
    """Add a reading; return why there is none, empty where there is: one pooler keeps no other from being read."""
    try:
        _read_on(pooler, login_log, kept, now)
    except PoolsError as error:
        return str(error)
    except Exception as error:  # whatever it is, the log of the next pooler is read
        logger.exception("the log of pooler %s was not read", pooler.pk)
        return _("the panel failed (%(error)s); the log of the worker has more") % {"error": type(error).__name__}
    return ""


def _read_on(pooler: Pooler, login_log: LoginLog, kept: ReadLog, now: float) -> None:
    """Add a reading. Raises `PoolsError`, such as `LogUnreadable` and `HostUnreachable`."""
    if now - kept.get("paths_at", 0.0) > PATHS_KNOWN_S:
        kept |= {"paths": login_log.paths(pooler, KINDS[pooler.kind].main_path(pooler)), "paths_at": now}
    before = {path: LogPosition(*at) for path, at in kept["positions"].items()}
    news = login_log.news(pooler, kept.get("paths", []), before)
    kept["positions"] = dict(news.positions)
    if before:
        kept["readings"].append(_reading(news, _read_at(kept), now))
    kept["readings"] = [one for one in kept["readings"] if one["until"] > now - WINDOW_S]
    kept |= {"at": now, "read_at": now, "unread": ""}


def _read_at(kept: ReadLog) -> float:
    """Return when the positions were read; of what an older release kept, by its last reading."""
    return kept.get("read_at") or max((one["until"] for one in kept["readings"]), default=kept["at"])


def _read_log_of(pooler: Pooler) -> ReadLog:
    """Return what Redis has of a pooler; nothing of another host's files, whose positions mean nothing here."""
    delivery = deliveries.of(pooler)
    place = f"{delivery.place_of(pooler)} {settings.GENERATOR if delivery.needs_worker else ''}"
    found: ReadLog | None = redis_store.read(_key(pooler.pk))
    if found and found["place"] == place:
        return found
    return {"place": place, "at": time.time(), "unread": "", "readings": [], "positions": {}}


def _reading(news: LogNews, since: float, until: float) -> Reading:
    refusals = [line for line in log_reasons.once(news.lines) if line.known and line.known.refuses_login]
    return {
        "since": since,
        "until": until,
        "reasons": Counter(line.known.reason for line in refusals if line.known),
        "users": _names(_user(line) for line in refusals),
        "databases": _names(_database(line) for line in refusals),
        "addresses": _names(_client(line) for line in refusals),
        "skipped": news.skipped,
    }


def _names(found: Iterator[str]) -> Counts:
    """Count names, in letters that mean nothing to a chat or a mail; only the most frequent are kept."""
    return dict(Counter(UNUSUAL.sub("?", name)[:LONGEST_NAME] for name in found if name).most_common(NAMED * 10))


def _user(line: LogLine) -> str:
    return line.user or (line.detail if line.known and line.known.reason == "no_such_user" else "")


def _database(line: LogLine) -> str:
    return line.database or (line.detail if line.known and line.known.reason == "no_such_database" else "")


def _client(line: LogLine) -> str:
    """Return the address of a client without its port; empty for a server's."""
    return PORT.sub("", line.address) if line.socket.startswith("C") else ""


def _refusals(kept: ReadLog | None) -> Refusals:
    """Add up the readings of the last minute before the newest."""
    if kept is None or (not kept["unread"] and time.time() - kept["at"] > STALE_S):
        return Refusals(unknown=_("no worker has read its log within the last two minutes"))
    if kept["unread"]:
        return Refusals(at=kept["at"], unknown=kept["unread"])
    readings = kept["readings"]
    if not readings:
        return Refusals(at=kept["at"], unknown=_("its log was read for the first time a moment ago"))
    total = sum(sum(one["reasons"].values()) for one in readings)
    span_s = max(WINDOW_S, kept["at"] - min(one["since"] for one in readings))
    return Refusals(
        per_minute=total * 60 / span_s,
        at=kept["at"],
        reasons=_sum(one["reasons"] for one in readings),
        users=_sum(one["users"] for one in readings),
        databases=_sum(one["databases"] for one in readings),
        addresses=_sum(one["addresses"] for one in readings),
        is_partial=any(one["skipped"] for one in readings),
    )


def _sum(counts: Iterable[Mapping[str, int]]) -> tuple[tuple[str, int], ...]:
    total: Counter[str] = Counter()
    for one in counts:
        total.update(one)
    return tuple(total.most_common())


def _listed(counts: tuple[tuple[str, int], ...]) -> str:
    """Return `app × 36, batch × 2`, and how many further names there are."""
    named = ", ".join(f"{name} × {times}" for name, times in counts[:NAMED])
    if (further := len(counts) - NAMED) > 0:
        return _("%(names)s and %(count)s more") % {"names": named, "count": further}
    return named


def _key(pooler_id: UUID) -> str:
    return f"refused-logins:{pooler_id}"
