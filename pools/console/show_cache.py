"""Caches the SHOW output of poolers: each process polls each command at most once a second for all viewers."""

import time
from dataclasses import dataclass, field
from threading import Lock
from uuid import UUID

from pools.errors import ConsoleRefused, PoolerUnreachable
from pools.models import Entry, Pool, Pooler, PoolerState
from pools.monitoring import sampler
from pools.poolers import KINDS, shown_secrets
from pools.poolers.admin_commands import Condition

FRESH_S = 1.0
KEPT_S = 60.0
Rows = list[dict[str, object]]


@dataclass(frozen=True)
class ShowResult:
    """The rows of one SHOW command, columns by name, or why there are none."""

    rows: Rows = field(default_factory=list)
    error: str = ""


class _CachedResult:
    """The last result of one SHOW command, and the lock to refresh it."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.version, self.asked_at, self.shown = 0, 0.0, ShowResult()

    def serves(self, version: int) -> bool:
        return self.version == version and time.monotonic() - self.asked_at < FRESH_S


_answers: dict[tuple[UUID, str], _CachedResult] = {}


def rows(pooler: Pooler, word: str) -> ShowResult:
    """Return the rows of `SHOW word`; the shared console snapshot has some, without the console's own pool."""
    if word in KINDS[pooler.kind].words_of(pooler):
        snapshot = sampler.latest(pooler)
        if snapshot.error or word in snapshot.rows:
            return ShowResult(snapshot.rows.get(word, []), snapshot.error)
    answer = _answers.setdefault((pooler.pk, word), _CachedResult())
    with answer.lock:
        if not answer.serves(pooler.version):
            answer.shown, answer.version = _ask(pooler, word), pooler.version
            answer.asked_at = time.monotonic()
            _remove_expired()
        return answer.shown


def condition(pool: Pool | Entry) -> Condition | None:
    """Return whether the pool is paused or disabled, at most a second old; None where the console does not say."""
    if pool.pooler.state != PoolerState.ONLINE:
        return None
    snapshot = sampler.latest(pool.pooler)
    for row in snapshot.rows.get("databases", []):
        if row.get("name") == pool.name and "paused" in row:
            return Condition(paused=bool(row["paused"]), disabled=bool(row.get("disabled")))
    return None


def _ask(pooler: Pooler, word: str) -> ShowResult:
    try:
        return ShowResult(shown_secrets.mask_rows(KINDS[pooler.kind].show(pooler, word)))
    except (PoolerUnreachable, ConsoleRefused) as error:
        return ShowResult(error=str(error))


def _remove_expired() -> None:
    """Drop results that nobody has requested for a minute: they may hold thousands of rows."""
    for key, answer in list(_answers.items()):
        if time.monotonic() - answer.asked_at > KEPT_S and not answer.lock.locked():
            _answers.pop(key, None)
