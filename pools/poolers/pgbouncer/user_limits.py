"""Limits of users that the operator has already, and that an apply would replace.

An entry of [users] replaces an earlier one of that user whole. Where a file can't be read from here, SHOW USERS tells
of some: the mode alone in 1.18, none of the timeouts in any release up to 1.26, and the sizes of another user before
1.26 (pgbouncer/pgbouncer#1489).
"""

from collections.abc import Collection, Iterable, Iterator, Mapping

from django.utils.translation import gettext as _

from pools.poolers.pgbouncer import global_settings
from pools.poolers.pgbouncer.database_entries import Entry
from pools.poolers.pgbouncer.operators_config import Operators, shortened
from pools.poolers.settings_schema import Version

OF_ALL = ("max_user_connections", "max_user_client_connections")  # shown with the general value where there is no own
OWN = ("pool_mode",)  # shown empty where there is none
SIZES, SIZES_SINCE = ("pool_size", "reserve_pool_size"), (1, 26)


def claims(
    users: Collection[str], panels: Collection[str], operators: Operators, config: Mapping[str, str], version: Version
) -> Iterator[str]:
    """Yield those of these users that have limits of the operator's, or may have.

    `panels` are those to whom the panel gave limits before, `config` is SHOW CONFIG.
    """
    if own := sorted(operators.users.keys() & set(users)):
        file = ", ".join(sorted({shortened(operators.users[user].file) for user in own}))
        params = {"file": file, "listed": ", ".join(own)}
        yield _("%(file)s already has limits for %(listed)s: change them there") % params
    if operators.reading.unread:
        for user in sorted((operators.shown_users.keys() & set(users)).difference(own, panels)):
            yield _hidden(user, operators, config, version)


def notes(entries: Iterable[Entry], operators: Operators, version: Version) -> Iterator[str]:
    """Yield a sentence for each of the operator's lines that overrides a pool's mode or size.

    Before 1.24 a pool's fixed user is another than the one of [users], and has none of its limits.
    """
    for entry in entries if version >= global_settings.LIMITS_FIXED_USERS else ():
        line = operators.users.get(entry.user)
        counting = dict(_counting(entry, line.pairs)) if line else {}
        if line and counting:
            params = {"number": line.number, "file": shortened(line.file), "user": entry.user, "pool": entry.name}
            limits = ", ".join(f"{name} {value}" for name, value in counting.items())
            text = _(
                "line %(number)s of %(file)s limits %(user)s to %(limits)s, which counts instead of what pool %(pool)s "
                "says"
            )
            yield text % {**params, "limits": limits}


def _counting(entry: Entry, pairs: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    if pairs.get("pool_mode", entry.mode) != entry.mode:
        yield "pool_mode", pairs["pool_mode"]
    if pairs.get("pool_size", str(entry.size)) != str(entry.size):
        yield "pool_size", pairs["pool_size"]
    most = pairs.get("max_user_connections", "0")
    if most.isdigit() and 0 < int(most) < entry.size:
        yield "max_user_connections", most


def _hidden(user: str, operators: Operators, config: Mapping[str, str], version: Version) -> str:
    unread = operators.reading.unread
    params = {
        "user": user,
        "files": ", ".join(map(shortened, unread)),
        "why": "; ".join(dict.fromkeys(unread.values())),
    }
    if limits := _shown(operators.shown_users[user], config, version):
        params["limits"] = ", ".join(f"{name} {value}" for name, value in limits.items())
        text = _(
            "PgBouncer has limits for %(user)s already, which the panel never wrote (%(limits)s): change them in "
            "%(files)s, which can't be read from here (%(why)s)"
        )
        return text % params
    text = _(
        "%(files)s can't be read from here (%(why)s), and limits for %(user)s there would be replaced: let the panel's "
        "account read it, or set them there"
    )
    return text % params


def _shown(row: Mapping[str, object], config: Mapping[str, str], version: Version) -> dict[str, str]:
    """Return the limits of its own that SHOW USERS has for a user."""
    own = (*OWN, *SIZES) if version >= SIZES_SINCE else OWN
    values = {name: str(row[name] or "").strip() for name in (*own, *OF_ALL) if name in row}  # padded with blanks
    general = {name: config.get(name, "0") for name in OF_ALL}
    return {name: value for name, value in values.items() if value and value != general.get(name)}
