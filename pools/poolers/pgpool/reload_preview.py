"""What the files as they lie there would do to a Pgpool-II: whether it would start, and what a reload would change."""

from collections.abc import Iterator, Mapping

from pools.models import Pooler
from pools.poolers.pgpool import preflight, render, settings_catalog, sql, verify
from pools.poolers.pgpool.render import MAIN
from pools.poolers.settings_schema import Version


def complaint(pooler: Pooler, version: Version, texts: Mapping[str, str]) -> str:
    """Why a start on these files would fail, in its own words; empty where it would not, or can't be tried here."""
    path = preflight.find(pooler, pooler.server_version)
    if path is None:
        return ""
    try:
        return preflight.complaint(path, version, texts, pooler.config_dir)
    except OSError:
        return ""


def changes(pooler: Pooler, version: Version, texts: Mapping[str, str]) -> Iterator[str]:
    """What the operator's part of pgpool.conf says otherwise than PGPOOL SHOW ALL; raises `PoolerUnreachable`."""
    main = texts.get(MAIN, "")
    with sql.open(pooler) as opened:
        live = sql.settings(opened)
    known = settings_catalog.by_name(version)
    ours = render.values_in(render.ours(main))
    own = {name: value for name, value in render.values_in(main).items() if name not in ours and name in known}
    for name, (now, wanted) in verify.differences(live, own, known).items():
        when = "restart" if verify.waits_for_restart(name, known) else "reload"
        yield f"a {when} would change {name} from {now or 'empty'} to {wanted or 'empty'}"
