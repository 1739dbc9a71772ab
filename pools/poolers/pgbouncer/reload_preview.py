"""What the files as they lie there would do to a PgBouncer: whether it would start, and what a RELOAD would change."""

from collections.abc import Iterator, Mapping

from pools.models import Pooler
from pools.poolers import settings_schema as settings_of
from pools.poolers.pgbouncer import console, global_settings, preflight, releases, render, values
from pools.poolers.pgbouncer.global_settings import SETTINGS
from pools.poolers.pgbouncer.render import MAIN


def complaint(pooler: Pooler, texts: Mapping[str, str]) -> str:
    """Why a start on these files would fail, in its own words; empty where it would not, or can't be tried here."""
    path = preflight.find(pooler, pooler.server_version)
    if path is None:
        return ""
    try:
        return preflight.complaint(path, texts, pooler.config_dir, pooler.config_dir)
    except OSError:
        return ""


def changes(pooler: Pooler, texts: Mapping[str, str]) -> Iterator[str]:
    """What the operator's part of pgbouncer.ini says otherwise than SHOW CONFIG; raises `PoolerUnreachable`."""
    own, ours = render.own_keys(texts.get(MAIN, ""), "pgbouncer"), global_settings.written(texts.get(SETTINGS, ""))
    version = releases.version_of(pooler.server_version)
    for row in console.show(pooler, "config"):
        name, setting = str(row["key"]), global_settings.setting_of(str(row["key"]), version)
        if name not in own or name in ours:
            continue
        live = settings_of.readable(setting, str(row["value"] or ""))
        if not values.same(setting, live, own[name]):
            when = "restart" if row.get("changeable") == "no" else "reload"
            yield f"a {when} would change {name} from {live or 'empty'} to {own[name] or 'empty'}"
