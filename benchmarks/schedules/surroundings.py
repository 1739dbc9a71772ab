"""What surrounded a night's runs, as they stored it, and what of it changed from one night to the next; pure."""

from collections.abc import Iterator, Mapping, Sequence

from django.utils.translation import gettext as _

from benchmarks.models import Run

Facts = Mapping[str, str]
MOST_NAMED = 8  # a sentence names no more


def of_run(run: Run) -> Facts:
    """Return what is known of the server, the pooler and the generator of a run, by its name as people read it."""
    server, pooler = run.evidence.get("server", {}), run.evidence.get("pooler", {})
    machine = run.evidence.get("generator", {})
    revision, pool = pooler.get("revision"), pooler.get("pool")
    found = {
        "PostgreSQL": run.server_version or server.get("version", ""),
        pooler.get("kind", "") or "pooler": pooler.get("version", ""),
        _("revision"): str(revision["number"]) if revision else "",
        _("pool size"): str(pool["size"]) if pool else "",
        _("pool mode"): pool["mode"] if pool else "",
        _("generator"): run.generator,
        _("load program"): run.client_version,
        _("kernel of the generator"): machine.get("kernel", ""),
    }
    settings = {name: f"{one['value']}{one['unit']}" for name, one in server.get("settings", {}).items()}
    return {name: value for name, value in (settings | found).items() if value}


def of_night(runs: Sequence[Run]) -> Facts:
    """Return what surrounded the runs of a night; a pooled run tells of its pooler too."""
    found: dict[str, str] = {}
    for run in runs:
        found |= of_run(run)
    return found


def changes(before: Facts, after: Facts) -> list[str]:
    """Return what differs, the versions and the revision first: "PostgreSQL 16.4 → 16.5"."""
    found = list(_differences(before, after))
    named, rest = found[:MOST_NAMED], found[MOST_NAMED:]
    return [*named, _("%(count)s more") % {"count": len(rest)}] if rest else named


def _differences(before: Facts, after: Facts) -> Iterator[str]:
    if not before or not after:  # nothing is known of one of them
        return
    names = dict.fromkeys([*before, *after])
    for name in sorted(names, key=lambda one: one.islower() and "_" in one):
        old, new = before.get(name, _("unset")), after.get(name, _("unset"))
        if old != new:
            yield f"{name} {old} → {new}"
