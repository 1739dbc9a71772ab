"""Registry of generators: what each recorded of itself, its last heartbeat, and the runs it carries."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db.models import Count
from django.utils import timezone
from django.utils.translation import gettext as _

from benchmarks.errors import IllegalTransition, QueueDown
from benchmarks.generators import heartbeats
from benchmarks.models import ACTIVE, Generator, Run, Status
from panel.lib import queues


@dataclass(frozen=True)
class Known:
    """A generator.

    `alive` is None while Redis is away; `engines` and `files` are None until it has reported them.
    """

    name: str
    last_seen_at: datetime
    alive: bool | None
    host: str = ""
    cores: int | None = None
    engines: dict[str, str] | None = None
    files: dict[str, dict[str, str]] | None = None
    round_trips: dict[str, Any] = field(default_factory=dict)
    started_at: datetime | None = None
    runs: tuple[Run, ...] = ()
    queued: int = 0

    @property
    def run(self) -> Run | None:
        """The first of the runs that it carries now."""
        return self.runs[0] if self.runs else None

    @property
    def queue(self) -> str:
        """The queue that only this generator consumes."""
        return queues.of_generator(self.name)

    @property
    def is_alive(self) -> bool:
        """Whether its heartbeat is recent, as far as known."""
        return bool(self.alive)

    def lacks(self, engine: str) -> bool:
        """Test whether it reported that it has no such program."""
        return self.engines is not None and engine not in self.engines


def known() -> list[Known]:
    """Return every generator by name; raise `QueueDown` where it is unknown which are alive."""
    return _joined({beat.name: beat for beat in heartbeats.seen()}, last_beats=True)


def remembered() -> list[Known]:
    """Return the generators that described themselves, without Redis; whether they are alive is unknown."""
    return _joined({}, last_beats=False)


def known_or_remembered() -> tuple[list[Known], str]:
    """Return every generator, and why it is unknown which are alive (empty: it is known)."""
    try:
        return known(), ""
    except QueueDown as error:
        return remembered(), str(error)


def alive() -> list[Known]:
    """Return the generators that may be given work; raise `QueueDown`."""
    return [generator for generator in known() if generator.alive]


def _joined(beats: dict[str, heartbeats.Heartbeat], *, last_beats: bool) -> list[Known]:
    rows = {row.name: row for row in Generator.objects.all()}
    carried = _carried()
    bound = Run.objects.filter(status=Status.QUEUED, parent=None).exclude(generator="").order_by()
    queued = dict(bound.values_list("generator").annotate(Count("pk")))
    now = timezone.now()
    found = []
    for name in sorted(rows.keys() | beats.keys()):
        beat, row = beats.get(name), rows.get(name)
        seen_at = max(one.last_seen_at for one in (beat, row) if one is not None)
        alive = (beat is not None and beat.is_alive(now)) if last_beats else None
        runs, waiting = tuple(carried.get(name, ())), queued.get(name, 0)
        found.append(Known(name, seen_at, alive, **_described(row), runs=runs, queued=waiting))
    return found


def _described(row: Generator | None) -> dict[str, Any]:
    names = ("host", "cores", "engines", "files", "round_trips", "started_at")
    return {name: getattr(row, name) for name in names} if row else {}


def _carried() -> dict[str, list[Run]]:
    """Return generator → its active runs; a part stands for the whole, which may be on many."""
    active = Run.objects.filter(status__in=ACTIVE).select_related("parent").order_by("number")
    found: dict[str, list[Run]] = {}
    for run in active:
        if not run.is_spread:
            found.setdefault(run.generator, []).append(run.parent or run)
    return found


def forget(name: str) -> bool:
    """Delete a generator that is gone; return False where there is none of that name.

    Raises `IllegalTransition` for one that is alive, and `QueueDown`.
    """
    found = next((one for one in known() if one.name == name), None)
    if found is None:
        return False
    if found.alive:
        raise IllegalTransition(
            _("generator %(name)s is alive: stop its worker first, or it comes back at once") % {"name": repr(name)}
        )
    heartbeats.forget(name)
    Generator.objects.filter(name=name).delete()
    return True
