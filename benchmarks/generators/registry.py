"""Registry of generators: what each recorded of itself, its last heartbeat, and the runs it carries."""

import re
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TypedDict

from django.db.models import Count
from django.utils import timezone
from django.utils.translation import gettext as _

from benchmarks.engines import ENGINES
from benchmarks.errors import IllegalTransition, InvalidFields, QueueDown
from benchmarks.generators import heartbeats
from benchmarks.models import ACTIVE, Generator, Run, Status
from benchmarks.models.generators import RoundTrip
from core.accounts.access import Access
from core.lib import queues
from pools.models import Cluster, Host, HostState

ANY = "any"  # stands for whichever worker is free
GENERATOR_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,62}")


@dataclass(frozen=True)
class GeneratorStatus:
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
    round_trips: dict[str, RoundTrip] = field(default_factory=dict)
    started_at: datetime | None = None
    ssh_host: Host | None = None
    runs: tuple[Run, ...] = ()
    queued: int = 0
    is_namesake: bool = False  # a worker and a host by SSH have this name

    @property
    def run(self) -> Run | None:
        """The first of the runs that it carries now."""
        return self.runs[0] if self.runs else None

    @property
    def queue(self) -> str:
        """The queue of its runs: its own, or that of all workers for a host that they reach by SSH."""
        return queues.RUNS if self.ssh_host else queues.of_generator(self.name)

    @property
    def is_alive(self) -> bool:
        """True if its heartbeat is recent, as far as known."""
        return bool(self.alive)

    @property
    def fault(self) -> str:
        """Why its host can't be used, by the last check; empty where it can, and for workers."""
        host = self.ssh_host
        if host is None:
            return ""
        words = {"host": host.name, "state": host.get_state_display(), "reason": host.error or _("check it")}
        if self.is_namesake:
            text = _("a worker is named %(name)s too: start it with another POOLDECK_GENERATOR")
            return text % {"name": self.name}
        if host.state != HostState.ONLINE:
            return _("host %(host)s: %(state)s (%(reason)s)") % words
        if not self.engines:
            return _("host %(host)s has no pgbench: install postgresql-contrib there, then check it") % words
        return ""

    @property
    def script_fault(self) -> str:
        """Why its host can't be given scripts of one's own, by the last check; empty where it can, and for workers."""
        return _why_no_scripts(self.ssh_host) if self.ssh_host else ""

    def lacks(self, engine: str) -> bool:
        """Test whether it reported that it has no such program."""
        return self.engines is not None and engine not in self.engines


def _why_no_scripts(host: Host) -> str:
    sandbox = host.programs.get("bwrap")
    if sandbox is None:
        text = _("host %(host)s has no sandbox for scripts of one's own: install bubblewrap there, then check it")
        return text % {"host": host.name}
    if not sandbox.get("fault"):
        return ""
    text = _(
        "bubblewrap, the sandbox for scripts of one's own, does not work on host %(host)s (%(reason)s): allow its "
        "account user namespaces, then check the host"
    )
    return text % {"host": host.name, "reason": sandbox["fault"]}


def known() -> list[GeneratorStatus]:
    """Return every generator by name; raise `QueueDown` where it is unknown which are alive."""
    return _joined({beat.name: beat for beat in heartbeats.seen()}, last_beats=True)


def remembered() -> list[GeneratorStatus]:
    """Return the generators that described themselves, without Redis; whether they are alive is unknown."""
    return _joined({}, last_beats=False)


def known_or_remembered() -> tuple[list[GeneratorStatus], str]:
    """Return every generator, and why it is unknown which are alive (empty: it is known)."""
    try:
        return known(), ""
    except QueueDown as error:
        return remembered(), str(error)


def alive() -> list[GeneratorStatus]:
    """Return the generators that may be given work; raise `QueueDown`."""
    return [generator for generator in known() if generator.alive]


def _joined(beats: dict[str, heartbeats.Heartbeat], *, last_beats: bool) -> list[GeneratorStatus]:
    rows = {row.name: row for row in Generator.objects.select_related("ssh_host")}
    carried = _carried()
    bound = Run.objects.unfinished().filter(status=Status.QUEUED, parent=None).exclude(generator="").order_by()
    queued = dict(bound.values_list("generator").annotate(Count("pk")))
    now = timezone.now()
    found = []
    for name in sorted(rows.keys() | beats.keys()):
        beat, row = beats.get(name), rows.get(name)
        seen_at = _seen_at(beat, row)
        alive = (beat is not None and beat.is_alive(now)) if last_beats else None
        runs, waiting = tuple(carried.get(name, ())), queued.get(name, 0)
        is_namesake = bool(row and row.ssh_host and alive)
        if row and row.ssh_host and last_beats:
            alive = any(one.is_alive(now) for one in beats.values())
        own = _own_account(row)
        found.append(GeneratorStatus(name, seen_at, alive, **own, is_namesake=is_namesake, runs=runs, queued=waiting))
    return found


def _seen_at(beat: heartbeats.Heartbeat | None, row: Generator | None) -> datetime:
    """Return when it was last heard of; of a host by SSH, when it was last checked."""
    if row and row.ssh_host and row.ssh_host.checked_at:
        return row.ssh_host.checked_at
    return max(one.last_seen_at for one in (beat, row) if one is not None)


class _OwnAccount(TypedDict, total=False):
    """The account and programs that a generator recorded of itself; empty before it did."""

    host: str
    cores: int | None
    engines: dict[str, str] | None
    files: dict[str, dict[str, str]] | None
    round_trips: dict[str, RoundTrip]
    started_at: datetime | None
    ssh_host: Host | None


def _own_account(row: Generator | None) -> _OwnAccount:
    if row is None:
        return {}
    host = row.ssh_host
    return {
        "host": host.place if host else row.host,
        "cores": None if host else row.cores,
        "engines": engines_of(host) if host else row.engines,
        "files": row.files,
        "round_trips": row.round_trips,
        "started_at": None if host else row.started_at,
        "ssh_host": host,
    }


def engines_of(host: Host) -> dict[str, str]:
    """Return engine → version of its program that the last check found there."""
    texts = {name: host.programs.get(engine.host_program, {}).get("version", "") for name, engine in ENGINES.items()}
    found = {name: re.search(r"\d+(\.\d+)*", text) for name, text in texts.items()}
    return {name: number[0] for name, number in found.items() if number}


def _carried() -> dict[str, list[Run]]:
    """Return generator → its active runs; a part stands for the whole, which may be on many."""
    active = Run.objects.unfinished().filter(status__in=ACTIVE).select_related("parent").order_by("number")
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
    if found.ssh_host:
        return _forget_host(found)
    if found.alive:
        raise IllegalTransition(
            _("generator %(name)s is alive: stop its worker first, or it comes back at once") % {"name": repr(name)}
        )
    heartbeats.forget(name)
    Generator.objects.filter(name=name).delete()
    return True


def _forget_host(found: GeneratorStatus) -> bool:
    if found.runs or found.queued:
        text = _("generator %(name)s has runs that have not ended: wait for them, or cancel them")
        raise IllegalTransition(text % {"name": repr(found.name)})
    Generator.objects.filter(name=found.name).delete()
    return True


def as_seen_by(access: Access, generators: list[GeneratorStatus]) -> list[GeneratorStatus]:
    """Return the generators without the runs and the round trips of clusters that the caller may not see."""
    if access.sees_all:
        return generators
    runs = access.visible(Run.objects.filter(pk__in=[run.pk for one in generators for run in one.runs]))
    clusters = access.visible(Cluster.objects.all())
    seen = {str(key) for rows in (runs, clusters) for key in rows.values_list("pk", flat=True)}
    return [
        replace(
            one,
            runs=tuple(run for run in one.runs if str(run.pk) in seen),
            round_trips={key: trip for key, trip in one.round_trips.items() if key in seen},
        )
        for one in generators
    ]


def add_host(host: Host, name: str = "") -> Generator:
    """Register a host that is reached by SSH as a generator, by its own name unless another is given.

    Raises `InvalidFields`.
    """
    name = name.strip() or host.name
    errors: dict[str, list[str]] = {}
    if not GENERATOR_NAME.fullmatch(name):
        errors["name"] = [_("%(name)r is not a generator name: use letters, digits, and _ . -") % {"name": name}]
    elif name == ANY or any(one.name == name for one in known_or_remembered()[0]):
        errors["name"] = [_("there is a generator %(name)r already: choose another name") % {"name": name}]
    if Generator.objects.filter(ssh_host=host).exists():
        errors["ssh_host"] = [_("host %(host)s is a generator already") % {"host": host}]
    elif fault := GeneratorStatus(name, timezone.now(), True, ssh_host=host, engines=engines_of(host)).fault:
        errors["ssh_host"] = [fault]
    if errors:
        raise InvalidFields(errors)
    return Generator.objects.create(name=name, ssh_host=host, host=host.name)
