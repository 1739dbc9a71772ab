"""What a revision is rendered from: pools, settings and given files as they were asked for, without secrets."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pools.models import Pool, Pooler, PoolState

Wishes = dict[str, Any]  # {"pools": [fields of a pool], "settings": {}, "user_settings": {}, "files": [setting]}

# kept by the panel about a pool, not asked for by anybody
BOOKKEEPING = frozenset(
    {"id", "pooler", "version", "created_at", "updated_at", "state", "state_reason", "paused_until"}
) | {"removal_requested_at"}
WISHED = tuple(field for field in Pool._meta.concrete_fields if field.name not in BOOKKEEPING)
COLUMNS = tuple(field.attname for field in WISHED)
KEYS = tuple(field.attname for field in WISHED if field.is_relation)
NOT_LIVE = frozenset({PoolState.ROLLED_BACK, PoolState.FAILED})  # what was asked for; something else is live
LONGEST_SUMMARY = 300
NOTHING = "nothing"


def snapshot(pooler: Pooler, pools: Iterable[Pool] | None = None, live: Wishes | None = None) -> Wishes:
    """What a revision holds that is rendered now; `pools` are those wanted (None: asked for), `live` as `live_wishes`.

    A pool or the settings that were rolled back stay live as they were, so they come from the last applied revision,
    and so does a settled pool that was read without its fields.
    """
    if pools is None:
        pools = pooler.pools.wanted().select_related("cluster")
    live = live_wishes(pooler) if live is None else live
    before = {one["id"]: one for one in live.get("pools", [])}
    own = pooler.settings_state not in NOT_LIVE
    of_pooler = _of_pooler(pooler) if own else {name: live[name] for name in _of_pooler(pooler) if name in live}
    return {"pools": [one for pool in pools if (one := _held(pool, before))], **of_pooler}


def given(pooler: Pooler) -> dict[str, str]:
    """Setting → content, in clear, of the given files that a revision rendered now holds."""
    if pooler.settings_state not in NOT_LIVE:
        return {one.setting: one.content for one in pooler.given_files.all()}
    last = pooler.revisions.applied().first()
    return last.given if last else {}


def live_wishes(pooler: Pooler) -> Wishes:
    """What the last applied revision was rendered from; empty before the first."""
    found: Wishes | None = pooler.revisions.applied().values_list("wishes", flat=True).first()
    return found or {}


def of_pool(pool: Pool) -> dict[str, Any]:
    """The wished fields of one pool by column, with its id and, for readers, its cluster's name."""
    values = {name: getattr(pool, name) for name in COLUMNS}
    keys = {name: str(values[name]) for name in KEYS if values[name]}
    return {"id": str(pool.pk), "cluster_name": pool.cluster.name, **values, **keys}


def changes(before: Wishes, after: Wishes) -> Iterator[str]:
    """What became different, one sentence each: `orders: size 3 → 7`."""
    old, new = ({one["id"]: one for one in wishes.get("pools", [])} for wishes in (before, after))
    yield from (f"{new[pk]['name']} is new" for pk in new if pk not in old)
    yield from (f"{old[pk]['name']} is removed" for pk in old if pk not in new)
    for pk in new:
        if pk in old and old[pk] != new[pk]:
            yield from _pool_changes(old[pk], new[pk])
    yield from _value_changes("", before.get("settings", {}), after.get("settings", {}))
    yield from _value_changes("users: ", before.get("user_settings", {}), after.get("user_settings", {}))
    yield from _file_changes(before.get("files", {}), after.get("files", {}))


def summary(before: Wishes, after: Wishes) -> str:
    """The changes in one line of at most `LONGEST_SUMMARY` characters."""
    told, left = "", 0
    for change in changes(before, after):
        longer = f"{told} · {change}" if told else change
        fits = not left and len(longer) <= LONGEST_SUMMARY - len(" · 100000 more changes")
        told, left = (longer, left) if fits else (told, left + 1)
    return f"{told or 'much'} · {left} more changes" if left else told or NOTHING


def _held(pool: Pool, before: Mapping[str, dict[str, Any]]) -> dict[str, Any] | None:
    if pool.state in NOT_LIVE or (pool.state != PoolState.PENDING and pool.get_deferred_fields()):
        return before.get(str(pool.pk))
    return of_pool(pool)


def _of_pooler(pooler: Pooler) -> Wishes:
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
            yield f"{new['name']}: {name} {_said(old.get(name))} → {_said(value)}"


def _value_changes(what: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"{what}{name} {_said(new[name])}" for name in new if name not in old)
    yield from (f"{what}{name} left out" for name in old if name not in new)
    for name in new:
        if name in old and old[name] != new[name]:
            yield f"{what}{name} {_said(old[name])} → {_said(new[name])}"


def _file_changes(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[str]:
    yield from (f"file {name} given" for name in new if name not in old)
    yield from (f"file {name} taken away" for name in old if name not in new)
    yield from (f"file {name} replaced" for name in new if name in old and old[name] != new[name])


def _said(value: object) -> str:
    if isinstance(value, dict):
        return " ".join(f"{name}={one}" for name, one in value.items()) or "–"
    return str(value) if value not in ("", None) else "–"
