"""What a revision is rendered from: pools, settings and given files as they were asked for, without secrets."""

import json
from collections.abc import Iterator, Mapping
from itertools import islice
from operator import attrgetter
from typing import Any

from pools.models import Pool, Pooler, PoolSet, PoolState, RevisionContent, RevisionState, Specs

# kept by the panel about a pool, not asked for by anybody
BOOKKEEPING = frozenset(
    {"id", "pooler", "version", "created_at", "updated_at", "state", "state_reason", "paused_until"}
) | {"removal_requested_at"}
DESIRED = tuple(field for field in Pool._meta.concrete_fields if field.name not in BOOKKEEPING)
COLUMNS = tuple(field.attname for field in DESIRED)
SHARED = attrgetter(*(name for name in COLUMNS if name not in ("name", "settings")))
NOT_LIVE = frozenset({PoolState.ROLLED_BACK, PoolState.FAILED})  # what was asked for; something else is live
LONGEST_SUMMARY = 300
MOST_LISTED = 50  # of pools that came or went: more never fit, each takes nine characters at least
NOTHING = "nothing"


def snapshot(pooler: Pooler, pools: PoolSet | None = None, live: Specs | None = None) -> Specs:
    """What a revision holds that is rendered now; `pools` are those wanted (None: asked for), `live` as `live_specs`.

    A pool or the settings that were rolled back stay live as they were, so they come from the last applied revision,
    and so does a settled pool that was read without its fields.
    """
    pools = PoolSet.whole(pooler) if pools is None else pools
    live = live_specs(pooler) if live is None else live
    own = pooler.settings_state not in NOT_LIVE
    of_pooler = _of_pooler(pooler) if own else {name: live[name] for name in _of_pooler(pooler) if name in live}
    held, alike = Specs(of_pooler), Alike()
    for key, pool in pools.items():
        if pool and pool.state not in NOT_LIVE:
            held.lines[key] = alike.line(pool)
        elif line := live.lines.get(key):
            held.lines[key] = line
    return held


def given(pooler: Pooler) -> dict[str, str]:
    """Setting → content, in clear, of the given files that a revision rendered now holds."""
    if pooler.settings_state not in NOT_LIVE:
        return {one.setting: one.content for one in pooler.given_files.all()}
    last = pooler.revisions.applied().first()
    return last.given if last else {}


def live_specs(pooler: Pooler) -> Specs:
    """What the last applied revision was rendered from; empty before the first."""
    live = RevisionContent.objects.filter(revision__pooler=pooler, revision__state=RevisionState.APPLIED)
    last = live.order_by("-revision__number").first()
    return last.specs if last else Specs()


def of_pool(pool: Pool) -> dict[str, Any]:
    """The wished fields of one pool by column, with its id and, for readers, its cluster's name."""
    read = pool.__dict__  # else each field would be asked for through a descriptor
    values = {name: read[name] if name in read else getattr(pool, name) for name in COLUMNS}
    cluster, through = pool.cluster, values["through_id"]
    values |= {"cluster_id": cluster.key, "through_id": str(through) if through else None}
    return {"id": pool.key, "name": values.pop("name"), "cluster_name": cluster.name, **values}


class Alike:
    """Writes the lines of pools: of ten thousand most differ in id and name alone, and the rest is written once."""

    def __init__(self) -> None:
        self._rest: dict[tuple[object, ...], str] = {}

    def line(self, pool: Pool) -> str:
        """The JSON of `of_pool`."""
        if pool.settings:
            return json.dumps(of_pool(pool))
        key = SHARED(pool)
        if key not in self._rest:
            _, _, *rest = of_pool(pool).items()  # but for id and name
            self._rest[key] = json.dumps(dict(rest))[1:]
        return f'{{"id": "{pool.key}", "name": {json.dumps(pool.name)}, {self._rest[key]}'


def changes(before: Mapping[str, Any], after: Mapping[str, Any], most: int | None = None) -> Iterator[str]:
    """What became different, one sentence each: `orders: size 3 → 7`; of pools that came or went the first `most`."""
    old, new = Specs.of(before), Specs.of(after)
    came, went = new.lines.keys() - old.lines.keys(), old.lines.keys() - new.lines.keys()
    yield from (f"{new.pool(pk)['name']} is new" for pk in islice((pk for pk in new.lines if pk in came), most))
    yield from (f"{old.pool(pk)['name']} is removed" for pk in islice((pk for pk in old.lines if pk in went), most))
    yield from pool_changes(old, new)
    yield from other_changes(before, after)


def pool_changes(old: Specs, new: Specs) -> Iterator[str]:
    """What became different of the pools that are in both."""
    for pk, line in new.lines.items():
        if old.lines.get(pk, line) != line:
            yield from _pool_changes(old.pool(pk), new.pool(pk))


def other_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    """What became different beside the pools."""
    yield from _value_changes("", before.get("settings", {}), after.get("settings", {}))
    yield from _value_changes("users: ", before.get("user_settings", {}), after.get("user_settings", {}))
    yield from _file_changes(before.get("files", {}), after.get("files", {}))


def summary(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """The changes in one line of at most `LONGEST_SUMMARY` characters."""
    old, new = Specs.of(before), Specs.of(after)
    described, left = "", 0
    for change in changes(old, new, most=MOST_LISTED):
        longer = f"{described} · {change}" if described else change
        fits = not left and len(longer) <= LONGEST_SUMMARY - len(" · 100000 more changes")
        described, left = (longer, left) if fits else (described, left + 1)
    for one, other in ((new, old), (old, new)):
        left += max(0, len(one.lines.keys() - other.lines.keys()) - MOST_LISTED)
    return f"{described or 'much'} · {left} more changes" if left else described or NOTHING


def _of_pooler(pooler: Pooler) -> dict[str, Any]:
    return {
        "settings": pooler.settings,
        "user_settings": pooler.user_settings,
        "files": {one.setting: one.updated_at.isoformat() for one in pooler.given_files.defer("sealed_content")},
    }


def _pool_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    for name, value in new.items():
        if name == "settings":
            yield from _value_changes(f"{new['name']}: ", old.get(name) or {}, value or {})
        elif old.get(name) != value and name != "cluster_id":
            yield f"{new['name']}: {name} {_reported(old.get(name))} → {_reported(value)}"


def _value_changes(what: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"{what}{name} {_reported(new[name])}" for name in new if name not in old)
    yield from (f"{what}{name} left out" for name in old if name not in new)
    for name in new:
        if name in old and old[name] != new[name]:
            yield f"{what}{name} {_reported(old[name])} → {_reported(new[name])}"


def _file_changes(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[str]:
    yield from (f"file {name} given" for name in new if name not in old)
    yield from (f"file {name} taken away" for name in old if name not in new)
    yield from (f"file {name} replaced" for name in new if name in old and old[name] != new[name])


def _reported(value: object) -> str:
    if isinstance(value, dict):
        return " ".join(f"{name}={one}" for name, one in value.items()) or "–"
    return str(value) if value not in ("", None) else "–"
