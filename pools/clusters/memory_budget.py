"""The memory budget of a server: the memory that its settings may take, against the memory that it has.

The rule is a published one: max_connections × work_mem + shared_buffers + temp_buffers + maintenance_work_mem + the
operating system ≤ RAM, and shared_buffers 25 to 40 % of RAM.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from django.utils.translation import gettext as _

KB, MB, GB = 1024, 1024**2, 1024**3
SHARED_LOW, SHARED_HIGH = 0.25, 0.40
# The rule gives no figure for the operating system: this is assumed.
SYSTEM_SHARE, SYSTEM_LEAST, SYSTEM_MOST_SHARE = 0.10, 512 * MB, 0.25
SMALLEST_WORK_MEM, USUAL_WORK_MEM = 64 * KB, 4 * MB  # PostgreSQL's least, and its default
FEWEST_CONNECTIONS = 10  # a proposal below is none


@dataclass(frozen=True)
class Settings:
    """The settings that the rule counts, in bytes but for the connections."""

    max_connections: int
    work_mem: int
    shared_buffers: int
    temp_buffers: int
    maintenance_work_mem: int


@dataclass(frozen=True)
class Term:
    """One summand: its name, how it comes about, and bytes."""

    name: str
    how: str
    size: int


@dataclass(frozen=True)
class Change:
    """A setting that would keep the rule: its value now and the proposed one, as postgresql.conf has them."""

    setting: str
    now: str
    proposed: str
    needs_restart: bool
    why: str


@dataclass(frozen=True)
class Segment:
    """A term in the bar of all; `x` and `width` in percent of the larger of sum and memory."""

    name: str
    x: float
    width: float


@dataclass(frozen=True)
class MemoryBudget:
    """Settings against `memory`, in bytes; None: the memory is not known, and so there is no verdict."""

    settings: Settings
    memory: int | None
    source: str = ""

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """The summands of the rule, in its order."""
        used = self.settings
        return (
            Term(
                _("work_mem of all sessions"),
                f"max_connections {used.max_connections:,} × work_mem {pretty(used.work_mem)}",
                used.max_connections * used.work_mem,
            ),
            Term("shared_buffers", _("allocated once, at the start"), used.shared_buffers),
            Term(
                "temp_buffers",
                _("counted once; each session with temporary tables may take as much"),
                used.temp_buffers,
            ),
            Term(
                "maintenance_work_mem",
                _("counted once; each autovacuum worker may take as much"),
                used.maintenance_work_mem,
            ),
            Term(
                _("operating system"),
                _("assumed: %(share)s of the memory, at least 512 MB or a quarter") % {"share": f"{SYSTEM_SHARE:.0%}"},
                self.system,
            ),
        )

    @property
    def system(self) -> int:
        """The bytes assumed for the operating system."""
        if self.memory is None:
            return SYSTEM_LEAST
        return max(min(SYSTEM_LEAST, int(self.memory * SYSTEM_MOST_SHARE)), int(self.memory * SYSTEM_SHARE))

    @property
    def total(self) -> int:
        """The sum of the terms."""
        return sum(term.size for term in self.terms)

    @property
    def over_by(self) -> int | None:
        """The bytes by which the sum exceeds the memory; negative where it fits."""
        return None if self.memory is None else self.total - self.memory

    @property
    def fits(self) -> bool | None:
        """True if the memory is at least the sum of the terms; None where it is unknown."""
        return None if self.over_by is None else self.over_by <= 0

    @property
    def shared_share(self) -> float | None:
        """shared_buffers as a share of the memory, 0 to 1 and more."""
        return self.settings.shared_buffers / self.memory if self.memory else None

    @property
    def shared_percent(self) -> float | None:
        """The same in percent, with one decimal."""
        return None if self.shared_share is None else round(100 * self.shared_share, 1)

    @property
    def shared_verdict(self) -> str:
        """`low`, `good` or `high` against 25 to 40 %; empty where the memory is not known."""
        if self.shared_share is None:
            return ""
        return "low" if self.shared_share < SHARED_LOW else "high" if self.shared_share > SHARED_HIGH else "good"

    @property
    def segments(self) -> list[Segment]:
        """The terms side by side."""
        whole, segments, x = max(self.total, self.memory or 0), [], 0.0
        for term in self.terms:
            width = 100 * term.size / whole
            segments.append(Segment(term.name, round(x, 2), round(width, 2)))
            x += width
        return segments

    @property
    def memory_at(self) -> float | None:
        """The position on that bar at which the memory ends, in percent."""
        return None if self.memory is None else round(100 * self.memory / max(self.total, self.memory), 2)

    @cached_property
    def changes(self) -> tuple[Change, ...]:
        """The changes of which each makes the rule hold."""
        return tuple(_changes(self)) if self.memory else ()


def pretty(size: int) -> str:
    """Format bytes as postgresql.conf takes them, in the largest unit that keeps them whole: `16MB`."""
    for unit, name in ((GB, "GB"), (MB, "MB"), (KB, "kB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit}{name}"
    return f"{size // KB}kB"


def _changes(budget: MemoryBudget) -> Iterator[Change]:
    memory, settled = budget.memory or 0, budget
    if budget.shared_verdict != "good":
        recommended = _whole_mb(memory * SHARED_LOW)
        yield _change("shared_buffers", budget.settings.shared_buffers, recommended, True, _shared_reason(budget))
        settled = _with(settled, shared_buffers=recommended)
    if _left(settled) < memory * 0.1:
        for name, share in (("maintenance_work_mem", 0.05), ("temp_buffers", 0.01)):
            now, recommended = getattr(settled.settings, name), _whole_mb(memory * share)
            if now > recommended:
                why = _("at most %(share)s of the memory") % {"share": f"{share:.0%}"}
                yield _change(name, now, recommended, False, why)
                settled = _with(settled, **{name: recommended})
    if not settled.fits:
        yield from _per_session(settled)


def _per_session(budget: MemoryBudget) -> Iterator[Change]:
    """Propose less memory for each session, and fewer sessions: either alone, or both where neither suffices."""
    used, left = budget.settings, max(0, _left(budget))
    each, sessions = _rounded_down(left // used.max_connections), _rounded(left // used.work_mem)
    if each >= SMALLEST_WORK_MEM:
        yield _change("work_mem", used.work_mem, each, False, _("enough alone, with as many connections as now"))
    if sessions >= FEWEST_CONNECTIONS:
        why = _("enough alone, with work_mem as it is; clients beyond it wait in a pool")
        yield Change("max_connections", str(used.max_connections), str(sessions), True, why)
    if each < SMALLEST_WORK_MEM and sessions < FEWEST_CONNECTIONS:
        sessions = _rounded(left // USUAL_WORK_MEM)
        if sessions < FEWEST_CONNECTIONS:
            return
        yield _change("work_mem", used.work_mem, USUAL_WORK_MEM, False, _("together with fewer connections"))
        yield Change(
            "max_connections", str(used.max_connections), str(sessions), True, _("together with less work_mem")
        )


def _left(budget: MemoryBudget) -> int:
    """Return the memory that remains for the sessions, in bytes."""
    return (budget.memory or 0) - sum(term.size for term in budget.terms[1:])


def _with(budget: MemoryBudget, **settings: int) -> MemoryBudget:
    return MemoryBudget(replace(budget.settings, **settings), budget.memory)


def _change(name: str, now: int, wanted: int, needs_restart: bool, why: str) -> Change:
    return Change(name, pretty(now), pretty(wanted), needs_restart, why)


def _shared_reason(budget: MemoryBudget) -> str:
    return _("%(share).1f %% of the memory now; 25 to 40 %% is usual") % {"share": budget.shared_percent or 0}


def _rounded(sessions: int) -> int:
    return sessions // 5 * 5 if sessions > FEWEST_CONNECTIONS else sessions


def _rounded_down(size: int) -> int:
    return size // MB * MB if size >= MB else size // (64 * KB) * (64 * KB)


def _whole_mb(size: float) -> int:
    step = 256 * MB if size >= GB else MB
    return max(1, -int(-size // step)) * step
