"""The load that an advice measures: whose scripts, how many clients, and the tables that they work on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast
from uuid import UUID

from django.utils.translation import gettext as _

from benchmarks.engines.option_parsing import is_given
from benchmarks.errors import InvalidOptions
from benchmarks.experiments.advice.definition import THREADS
from benchmarks.experiments.start import InvalidExperiment
from benchmarks.library.scripts import privileges
from benchmarks.models import Purpose, Run
from benchmarks.models.advice import ExistingTables
from benchmarks.models.options import DatasetOptions, RunOptions, RunScript
from benchmarks.runs.submission import options
from benchmarks.runs.submission import options as load_options
from benchmarks.targets import resolve
from core.accounts.access import Access
from pools.models import Cluster, NodeRole, Pool

ENGINE = "pgbench"
OWN, EXISTING = "own", "existing"
TABLES = (OWN, EXISTING)
RECORDED = "recorded"
DEFAULT_BUILTIN, DEFAULT_CLIENTS, DEFAULT_SCALE = "tpcb-like", 32, 10
READING_BUILTIN = "select-only"
MOST_DIGITS = 9
OF_A_RUN = ("builtin", "scripts", "variables", "protocol", "connect")


@dataclass(frozen=True)
class Workload:
    """A checked load; `options` are pgbench's and the panel's own as far as they were given, with scripts in full.

    `tables` says whether the advice makes pgbench's tables in a database of its own, of this `scale`, or loads those
    that exist.
    """

    options: RunOptions
    clients: int
    scale: int
    tables: str = OWN

    @property
    def dataset(self) -> DatasetOptions:
        """The options that its tables are made with; empty where they exist."""
        return {"scale": self.scale} if self.tables == OWN else {}


def is_recorded(raw: Mapping[str, object]) -> bool:
    """Return whether the pool's recorded mix was asked for."""
    return raw.get(RECORDED) is True


def read_through_entry(raw: Mapping[str, object], access: Access | None = None) -> Workload:
    """Return the load of an entry's own tables, which are pgbench's where a built-in script is asked for.

    By default it only reads. Raises as `read`.
    """
    if raw.get("tables", EXISTING) != EXISTING or "scale" in raw:
        message = _("an entry leads to its own database, whose tables exist: leave out tables and scale")
        raise InvalidExperiment({"workload": [message]})
    left_out = ("duration", "tables")
    given = {name: one for name, one in raw.items() if is_given(one) and name not in left_out}
    options = _with_scripts_of_run(given, access)
    clients = _positive_integer("clients", options.pop("clients", DEFAULT_CLIENTS))
    if not options.get("scripts"):
        options.setdefault("builtin", READING_BUILTIN)
    return Workload(_checked(options, clients, access), clients, 0, EXISTING)


def read(
    raw: Mapping[str, object], recorded: Sequence[RunScript] | None = None, access: Access | None = None
) -> Workload:
    """Return the load that was asked for; scripts pass the same checks as those of a run.

    `raw` holds options of pgbench, and `clients`, `scale`, `tables` and `run`, the id of a run whose scripts are taken.
    `recorded` are the scripts of the recorded mix, where `raw` asks for it. With `access`, only scripts and runs that
    its holder may see are found. Raises `InvalidExperiment` and `InvalidOptions`.
    """
    options = {name: one for name, one in raw.items() if is_given(one) and name not in ("duration", RECORDED)}
    options = _with_scripts_of_run(options, access) if recorded is None else _with_recorded_scripts(options, recorded)
    tables, has_scale = _tables(options.pop("tables", OWN)), "scale" in options
    clients = _positive_integer("clients", options.pop("clients", DEFAULT_CLIENTS))
    scale = _positive_integer("scale", options.pop("scale", DEFAULT_SCALE))
    if not options.get("scripts"):
        options.setdefault("builtin", DEFAULT_BUILTIN)
    if tables == EXISTING and options.get("builtin"):
        text = _("pgbench's built-in scripts need pgbench's tables: choose scripts of your own, or the sweep's tables")
        raise InvalidExperiment({"tables": [text]})
    if not options.get("builtin") and (tables == OWN or has_scale):
        options["scale"] = scale  # the value of :scale, which pgbench knows of its built-in scripts alone
    if tables == OWN:
        load_options.validate(ENGINE, {"scale": scale}, purpose=Purpose.PREPARE)
    return Workload(_checked(options, clients, access), clients, scale, tables)


def _checked(given: Mapping[str, object], clients: int, access: Access | None) -> RunOptions:
    if given.get("stages"):
        raise InvalidOptions({"stages": [_("only a single run has stages: leave them out")]})
    threads = given.get("threads", THREADS)
    fitted = min(threads, clients) if isinstance(threads, int) else threads
    complete = {**given, "clients": clients, "threads": fitted, "duration": 1}
    valid = load_options.validate(ENGINE, complete, purpose=Purpose.LOAD, access=access)
    options.check_program_version(ENGINE, valid)
    checked: Mapping[str, object] = valid
    return cast("RunOptions", {name: checked[name] for name in given if checked.get(name) is not None})


def _with_scripts_of_run(options: dict[str, object], access: Access | None) -> dict[str, object]:
    """Return the load with the scripts of the run that it names, if any."""
    run_id = options.pop("run", None)
    if run_id is None:
        return options
    run = _load_run(run_id, access)
    own: Mapping[str, object] = run.options if run else {}
    copied = {name: own[name] for name in OF_A_RUN if is_given(own.get(name))}
    if not copied.get("builtin") and not copied.get("scripts"):
        message = _("there is no run of pgbench scripts with the id %(run)s") % {"run": repr(str(run_id)[:60])}
        raise InvalidOptions({"run": [message]})
    return copied | options


def _with_recorded_scripts(options: dict[str, object], scripts: Sequence[RunScript]) -> dict[str, object]:
    """Return the load with the scripts of the recorded mix, which are of the pool's own tables."""
    if others := sorted(options.keys() & {*OF_A_RUN[:2], "run"}):
        text = _("the recorded mix has its own scripts: leave out %(others)s")
        raise InvalidExperiment({RECORDED: [text % {"others": ", ".join(others)}]})
    if options.get("tables", EXISTING) != EXISTING:
        message = _("the recorded mix reads the pool's tables: leave out tables, or use existing")
        raise InvalidExperiment({"tables": [message]})
    return options | {"scripts": [dict(one) for one in scripts], "tables": EXISTING}


def _load_run(wanted: object, access: Access | None) -> Run | None:
    try:
        pk = UUID(str(wanted))
    except ValueError:
        return None
    runs = access.visible(Run.objects.all()) if access else Run.objects.all()
    return runs.filter(pk=pk, purpose=Purpose.LOAD, engine=ENGINE).first()


def _tables(value: object) -> str:
    if value not in TABLES:
        message = _("%(value)s names no tables: use one of %(known)s")
        raise InvalidExperiment({"tables": [message % {"value": repr(value), "known": ", ".join(TABLES)}]})
    return str(value)


def _positive_integer(name: str, value: object) -> int:
    text = str(value)
    if not text.isdecimal() or len(text) > MOST_DIGITS or int(text) < 1:
        message = _("%(value)s is not a number of them: enter a whole number from 1") % {"value": value}
        raise InvalidExperiment({name: [message]})
    return int(text)


def login_to_existing(cluster: Cluster, pool: Pool | None, database: str, user: str) -> ExistingTables:
    """Return database and role of the tables that exist: the pool's, else those given.

    As for a run, the role must not reach the server's host. Raises `InvalidExperiment`, `InvalidTarget`, `Refused` and
    `ClusterUnreachable`.
    """
    if pool is not None and pool.target != NodeRole.PRIMARY:
        text = _("pool %(pool)s routes to standbys, and the sweep's pools to the primary: use the sweep's tables")
        raise InvalidExperiment({"tables": [text % {"pool": pool}]})
    login: ExistingTables = {
        "database": pool.database if pool else database,
        "user": (pool.user if pool else "") or user,
    }
    for name, value in login.items():
        if not value:
            text = _("existing tables need a database and a role to log in as: name both, or use the sweep's tables")
            raise InvalidExperiment({"tables" if pool else name: [text]})
    privileges.refuse_reaching(
        resolve.find({"cluster": str(cluster.pk), "database": login["database"], "user": login["user"]})
    )
    return login
