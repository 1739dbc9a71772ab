"""The spec of a revision: pools, settings and given files as they were requested, without secrets."""

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import islice
from operator import attrgetter
from typing import Any, cast

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from pools.models import Pool, Pooler, PoolSet, PoolSpec, PoolState, RevisionContent, RevisionState, Specs

# the panel's own records about a pool, not part of its spec
BOOKKEEPING = frozenset(
    {"id", "pooler", "version", "created_at", "updated_at", "state", "state_reason", "paused_until"}
) | {"removal_requested_at", "applied_at", "proved_at", "proved_digest", "taken_over"}
DESIRED = tuple(field for field in Pool._meta.concrete_fields if field.name not in BOOKKEEPING)
COLUMNS = tuple(field.attname for field in DESIRED)
SHARED = attrgetter(*(name for name in COLUMNS if name not in ("name", "settings")))
NOT_LIVE = frozenset({PoolState.ROLLED_BACK, PoolState.FAILED})  # an older spec is live
LONGEST_SUMMARY = 300
# added or removed pools that a summary names: more never fit, since each takes nine characters at least
MOST_LISTED = 50


def snapshot(pooler: Pooler, pools: PoolSet | None = None, live: Specs | None = None) -> Specs:
    """Return the spec of a revision rendered now; `pools`: None for those requested, `live`: as `live_specs`.

    A pool or the settings that were rolled back stay live as they were, so they come from the last applied revision,
    and so does a settled pool that was read without its fields.
    """
    pools = PoolSet.whole(pooler) if pools is None else pools
    live = live_specs(pooler) if live is None else live
    own = pooler.settings_state not in NOT_LIVE
    of_pooler = _of_pooler(pooler) if own else {name: live[name] for name in _of_pooler(pooler) if name in live}
    specs, alike = Specs(of_pooler), SpecWriter()
    for key, pool in pools.items():
        if pool and pool.state not in NOT_LIVE:
            specs.lines[key] = alike.line(pool)
        elif line := live.lines.get(key):
            specs.lines[key] = line
    return specs


def uploaded_files(pooler: Pooler) -> dict[str, str]:
    """Return setting → content, in clear, of the given files of a revision rendered now."""
    if pooler.settings_state not in NOT_LIVE:
        return {one.setting: one.content for one in pooler.given_files.all()}
    last = pooler.revisions.applied().first()
    return last.given if last else {}


def live_specs(pooler: Pooler) -> Specs:
    """Return the spec of the last applied revision; empty before the first."""
    live = RevisionContent.objects.filter(revision__pooler=pooler, revision__state=RevisionState.APPLIED)
    last = live.order_by("-revision__number").first()
    return last.specs if last else Specs()


def of_pool(pool: Pool) -> PoolSpec:
    """Return the spec fields of one pool by column, with its id and, for readers, its cluster's name."""
    read = pool.__dict__  # faster than a descriptor for each field
    values = {name: read[name] if name in read else getattr(pool, name) for name in COLUMNS}
    cluster, through = pool.cluster, values["through_id"]
    values |= {"cluster_id": cluster.key, "through_id": str(through) if through else None}
    return cast(PoolSpec, {"id": pool.key, "name": values.pop("name"), "cluster_name": cluster.name, **values})


class SpecWriter:
    """Writes pools as JSON lines; renders the part without id and name once for all pools that share it."""

    def __init__(self) -> None:
        self._rest: dict[tuple[object, ...], str] = {}

    def line(self, pool: Pool) -> str:
        """Return `of_pool` as one line of JSON that begins with the id."""
        if pool.settings:
            return json.dumps(of_pool(pool))
        shared = SHARED(pool)
        rest = self._rest.get(shared) or self._rest.setdefault(shared, self._shared_json(pool))
        return f'{{"id": "{pool.key}", "name": {json.dumps(pool.name)}, {rest}'

    @staticmethod
    def _shared_json(pool: Pool) -> str:
        _id, _name, *shared = of_pool(pool).items()
        return json.dumps(dict(shared))[1:]


def changes(before: Mapping[str, Any], after: Mapping[str, Any], most: int | None = None) -> Iterator[str]:
    """Yield the changes, one sentence each: `orders: size 3 → 7`; of added or removed pools the first `most`."""
    old, new = Specs.of(before), Specs.of(after)
    came, went = new.lines.keys() - old.lines.keys(), old.lines.keys() - new.lines.keys()
    added, removed = (pk for pk in new.lines if pk in came), (pk for pk in old.lines if pk in went)
    yield from (_("%(pool)s is new") % {"pool": new.pool(pk)["name"]} for pk in islice(added, most))
    yield from (_("%(pool)s is removed") % {"pool": old.pool(pk)["name"]} for pk in islice(removed, most))
    yield from pool_changes(old, new)
    yield from other_changes(before, after)


def pool_changes(old: Specs, new: Specs) -> Iterator[str]:
    """Yield sentences on the pools that both snapshots have with other values."""
    for pk, line in new.lines.items():
        if old.lines.get(pk, line) != line:
            yield from _pool_changes(old.pool(pk), new.pool(pk))


def other_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    """Yield the changes of settings, users and files."""
    yield from _value_changes(str, before.get("settings", {}), after.get("settings", {}))
    yield from _value_changes(_of_user, before.get("user_settings", {}), after.get("user_settings", {}))
    yield from _file_changes(before.get("files", {}), after.get("files", {}))
    counts = before.get("processes", 1), after.get("processes", 1)
    if counts[0] != counts[1]:
        yield _changed(_("processes"), *counts)


def summary(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Return the changes in one line of at most `LONGEST_SUMMARY` characters."""
    old, new = Specs.of(before), Specs.of(after)
    text, omitted = "", 0
    for change in changes(old, new, most=MOST_LISTED):
        longer = f"{text} · {change}" if text else change
        fits = not omitted and len(longer) <= LONGEST_SUMMARY - len(_and_more("", 100_000))
        text, omitted = (longer, omitted) if fits else (text, omitted + 1)
    for one, other in ((new, old), (old, new)):
        omitted += max(0, len(one.lines.keys() - other.lines.keys()) - MOST_LISTED)
    if omitted and text:
        return _and_more(text, omitted)
    return _("many changes") if omitted else text or _("nothing")


def _and_more(changes: str, more: int) -> str:
    text = ngettext("%(changes)s · %(more)d more change", "%(changes)s · %(more)d more changes", more)
    return text % {"changes": changes, "more": more}


def _of_pooler(pooler: Pooler) -> dict[str, object]:
    return {
        "settings": pooler.settings,
        "user_settings": pooler.user_settings,
        "files": {one.setting: one.updated_at.isoformat() for one in pooler.given_files.defer("sealed_content")},
        "processes": pooler.desired_processes,
    }


def _pool_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    for name, value in new.items():
        if name == "settings":
            of_pool = partial("{}: {}".format, new["name"])
            yield from _value_changes(of_pool, old.get(name) or {}, value or {})
        elif old.get(name) != value and name != "cluster_id":
            yield _changed(f"{new['name']}: {name}", old.get(name), value)


def _value_changes(shown: Callable[[str], str], old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    """Yield the changes of values by name; `shown` says whose a name is."""
    yield from (f"{shown(name)} {_printed(new[name])}" for name in new if name not in old)
    yield from (_("%(setting)s left out") % {"setting": shown(name)} for name in old if name not in new)
    for name in new:
        if name in old and old[name] != new[name]:
            yield _changed(shown(name), old[name], new[name])


def _of_user(name: str) -> str:
    return _("users: %(user)s") % {"user": name}


def _changed(setting: str, old: object, new: object) -> str:
    return f"{setting} {_printed(old)} → {_printed(new)}"


def _file_changes(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[str]:
    yield from (_("file %(name)s added") % {"name": name} for name in new if name not in old)
    yield from (_("file %(name)s removed") % {"name": name} for name in old if name not in new)
    yield from (_("file %(name)s replaced") % {"name": name} for name in new if name in old and old[name] != new[name])


def _printed(value: object) -> str:
    if isinstance(value, dict):
        return " ".join(f"{name}={one}" for name, one in value.items()) or "–"
    return str(value) if value not in ("", None) else "–"
