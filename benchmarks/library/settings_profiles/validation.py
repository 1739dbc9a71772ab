"""Checks a profile against a server: each setting against its pg_settings, with warnings for dangerous ones."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.utils.translation import gettext as _

from benchmarks.library.settings_profiles import (
    conflicts,
    dry_start,
    gate,
    limits,
    privileges,
    start_rules,
    tuning,
)
from benchmarks.library.settings_profiles.conflicts import RoleSetting
from benchmarks.library.settings_profiles.guc_values import ServerSetting, read
from pools.clusters import connect, memory_budget, process_memory
from pools.clusters.memory_budget import MemoryBudget, Settings
from pools.models import Cluster

PG_SETTINGS = """
    SELECT name, setting, coalesce(unit, ''), context, vartype, coalesce(enumvals, '{}'), coalesce(min_val, ''),
           coalesce(max_val, ''), source, pending_restart
      FROM pg_settings WHERE name = ANY(%s)
"""
STANDBYS = """
    SELECT EXISTS (SELECT FROM pg_stat_replication),
           (SELECT nullif(client_port, -1) FROM pg_stat_activity WHERE pid = pg_backend_pid())
"""
OWN_LISTED = 3  # roles and databases with a value of their own, named for each setting
BUDGET = ("max_connections", "work_mem", "shared_buffers", "temp_buffers", "maintenance_work_mem")


@dataclass(frozen=True)
class Finding:
    """One setting of a profile on a server: its present value, and the problem with it (empty: none)."""

    name: str
    value: str
    now: str = ""
    needs_restart: bool = False
    changes: bool = False
    problem: str = ""
    warning: str = ""


@dataclass(frozen=True)
class Verdict:
    """All settings of a profile on a server.

    `budget` is its memory budget (None: not known), `refusal` why the panel's role could not put any of them in force
    (empty: it could).
    """

    findings: tuple[Finding, ...]
    budget: MemoryBudget | None = None
    refusal: str = ""
    untried: str = ""  # why a restart with them can't be tried before; empty where it can

    @property
    def problems(self) -> list[str]:
        """Why the profile can't be used, as sentences."""
        return [self.refusal, *self._of_settings] if self.refusal else self._of_settings

    @property
    def _of_settings(self) -> list[str]:
        return [one.problem for one in self.findings if one.problem]

    @property
    def to_restart(self) -> list[str]:
        """The settings that take effect only after a restart."""
        return [one.name for one in self.findings if one.needs_restart and one.changes]

    @property
    def warnings(self) -> list[str]:
        """The dangers of the profile, as sentences."""
        found = [f"{one.name} = {one.value}: {one.warning}" for one in self.findings if one.warning]
        if self.to_restart and self.untried:
            text = _("whether the server starts with these settings can't be tried before the restart: %(reason)s")
            found.append(text % {"reason": self.untried})
        return found + list(_budget_warnings(self.budget))


def known_settings(connection: connect.Connection, names: list[str]) -> dict[str, ServerSetting]:
    """Return pg_settings of these names; unknown names are absent."""
    rows = connection.execute(PG_SETTINGS, (names,)).fetchall()
    return {row[0]: _known(row) for row in rows}


def _known(row: tuple[Any, ...]) -> ServerSetting:
    name, setting, unit, context, vartype, choices, minimum, maximum, source, pending_restart = row
    return ServerSetting(
        name, setting, unit, context, vartype, tuple(choices), minimum, maximum, source, pending_restart
    )


def check(
    cluster: Cluster, values: Mapping[str, str], *, is_admin: bool, role: str = "", database: str = ""
) -> Verdict:
    """Return the verdict of the cluster's primary for a load of that role in that database; raise `ClusterUnreachable`.

    For one who is no admin, settings and values that need the scope are problems.

    Without role and database it warns of all values that roles and databases have of their own.
    """
    with connect.connect(cluster, application_name="pooldeck-profiles") as connection:
        known = known_settings(connection, [*values, *BUDGET, *start_rules.SETTINGS])
        own = conflicts.own_values(connection, values)
        refusal = privileges.why_not(connection, values)
        server = None if is_admin else _limits_of(cluster, connection)
        row = connection.execute(start_rules.KEPT).fetchone()
        untried = dry_start.why_untried(connection)
    findings = [judge(known.get(name), name, value, server) for name, value in values.items()]
    findings = _together(
        findings, known, start_rules.PersistentObjects(*row) if row else start_rules.PersistentObjects()
    )
    checked = tuple(_beside(one, known.get(one.name), own, role, database) for one in findings)
    return Verdict(checked, _budget(cluster, known, values), refusal, untried)


def _together(
    findings: Sequence[Finding], known: Mapping[str, ServerSetting], kept: start_rules.PersistentObjects
) -> list[Finding]:
    """Return the findings, with what would keep the server from starting as the problem of a setting that changes."""
    if any(one.problem for one in findings):
        return list(findings)
    settings = {name: known[name].setting for name in start_rules.SETTINGS if name in known}
    settings |= {one.name: read(known[one.name], one.value) for one in findings if one.name in settings}
    changed = [one.name for one in findings if one.changes]
    problems: dict[str, str] = {}
    for names, why in start_rules.broken(settings, kept):
        if own := next((name for name in names if name in changed), None):
            problems.setdefault(own, why)
    return [replace(one, problem=problems.get(one.name, "")) for one in findings]


def _beside(finding: Finding, known: ServerSetting | None, own: list[RoleSetting], role: str, database: str) -> Finding:
    """Add what hides the setting from sessions: a problem for a known load, else a warning."""
    if known is None or finding.problem:
        return finding
    others = [one for one in own if one.name == finding.name]
    if role:
        first = next((one for one in others if one.holds_for(role, database)), None)
        hidden = first is not None and _differ(known, first.value, finding.value)
        return replace(finding, problem=_without_effect(first)) if first and hidden else finding
    differing = [one for one in others if _differ(known, one.value, finding.value)]
    overrides = [_("not in effect everywhere: %(own)s") % {"own": one.sentence} for one in differing[:OWN_LISTED]]
    return replace(finding, warning="; ".join(filter(None, [finding.warning, *overrides])))


def _differ(known: ServerSetting, first: str, second: str) -> bool:
    try:
        return read(known, first) != read(known, second)
    except ValueError:
        return first != second


def _without_effect(own: RoleSetting) -> str:
    return _("%(name)s would have no effect on the load (%(own)s): leave it out, or run %(reset)s") % {
        "name": own.name,
        "own": own.sentence,
        "reset": own.reset,
    }


def _limits_of(cluster: Cluster, connection: connect.Connection) -> limits.Server:
    """Return the figures that limit settings; memory as registered, or this host's if the server is here."""
    row = connection.execute(STANDBYS).fetchone()
    info = connection.info
    session = process_memory.Session(info.backend_pid, info.user, info.dbname, row[1] if row else None)
    memory = cluster.memory_mb * memory_budget.MB if cluster.memory_mb else None
    if memory is None and process_memory.is_here(session):
        memory = process_memory.memory_of_host()
    return limits.Server(memory, bool(row and row[0]))


def judge(known: ServerSetting | None, name: str, value: str, server: limits.Server | None = None) -> Finding:
    """Check one setting against pg_settings, and against the limits on a server for one who is no admin."""
    forbidden = tuning.why_forbidden(name)
    if known is None or forbidden:
        return Finding(
            name, value, problem=forbidden or _("this server has no setting %(name)s: leave it out") % {"name": name}
        )
    finding = Finding(name, value, known.shown, known.needs_restart)
    if known.context == "internal":
        return replace(
            finding, problem=_("%(name)s was fixed when the server was built: leave it out") % {"name": name}
        )
    if known.source == "command line":
        problem = _(
            "%(name)s is given on the server's command line, which no other setting overrules: leave it out"
        ) % {"name": name}
        return replace(finding, problem=problem)
    try:
        normal = read(known, value)
    except ValueError as error:
        return replace(finding, problem=str(error))
    problem = _beyond(known, normal, server) if server else ""
    return replace(finding, changes=normal != known.setting, warning=tuning.warning(name, normal), problem=problem)


def _beyond(known: ServerSetting, normal: str, server: limits.Server) -> str:
    if normal == known.setting:
        return ""
    return "; ".join(gate.beyond_tuning({known.name: normal})) or limits.beyond(known, normal, server)


def _budget(cluster: Cluster, known: Mapping[str, ServerSetting], values: Mapping[str, str]) -> MemoryBudget | None:
    """Return the memory budget with the profile in force; None where a figure is missing or wrong."""
    try:
        figures = {name: _bytes(known[name], values.get(name)) for name in BUDGET}
    except (KeyError, ValueError):
        return None
    return MemoryBudget(Settings(**figures), cluster.memory_mb * memory_budget.MB if cluster.memory_mb else None)


def _bytes(known: ServerSetting, value: str | None) -> int:
    setting = int(known.setting if value is None else read(known, value))
    factors = {"8kB": 8 * memory_budget.KB, "kB": memory_budget.KB, "MB": memory_budget.MB, "": 1}
    return setting * factors[known.unit]


def _budget_warnings(budget: MemoryBudget | None) -> Iterator[str]:
    if budget is None or budget.memory is None:
        return
    if budget.fits is False:
        text = _("the memory budget breaks: %(worst)s in the worst case against %(ram)s of RAM (%(how)s)")
        yield text % {"worst": _gb(budget.total), "ram": _gb(budget.memory), "how": budget.terms[0].how}
    if budget.shared_verdict and budget.shared_verdict != "good":
        yield _("shared_buffers is %(share)s %% of the RAM; 25 to 40 %% is usual") % {"share": budget.shared_percent}


def _gb(size: int) -> str:
    return f"{size / memory_budget.GB:,.1f} GB"
