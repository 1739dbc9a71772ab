"""Entries of PgBouncer's [users] section: what each user is held to, to a line and back."""

import re
from collections.abc import Iterable, Mapping

from django.utils.translation import gettext as _

from pools.poolers.pgbouncer.database_entries import PAIR, quoted

Limits = Mapping[str, Mapping[str, str]]
HEADER = "[users]"
LINE = re.compile(r"^(\S+) =(.*)$", re.MULTILINE)
NO_USER = re.compile(r"[^A-Za-z0-9_.-]")  # cfparser reads no other character in a key (up to 1.24, and unquoted later)
LONGEST_USER = 63
KEPT = (1, 24)  # 1.18 holds who logs in as themselves to max_user_connections, but no pool's fixed user (both seen)


def user_problem(user: str) -> str:
    """Return why this user can't have an entry; empty when it can."""
    if not user or len(user) > LONGEST_USER or NO_USER.search(user):
        return _(
            "user %(user)r can't have limits: PgBouncer reads names of the letters a-z A-Z, digits, and _ . - there"
        ) % {"user": user}
    return ""


def text(limits: Limits) -> str:
    """Render the section; empty without limits. An entry without keys resets its user to the defaults."""
    lines = [
        f"{user} = {' '.join(f'{name}={quoted(value)}' for name, value in sorted(own.items()))}".rstrip()
        for user, own in sorted(limits.items())
    ]
    return "\n".join([HEADER, *lines]) + "\n" if lines else ""


def read(file: str) -> dict[str, dict[str, str]]:
    """Return user → limits of a pooldeck.ini."""
    section = file.partition(f"\n{HEADER}\n")[2]
    return {
        user: {name: bare or inside.replace("''", "'") for name, inside, bare in PAIR.findall(pairs)}
        for user, pairs in LINE.findall(section)
    }


def faults(rows: Iterable[Mapping[str, object]], limits: Limits) -> list[str]:
    """List how SHOW USERS differs from the entries; 1.18 to 1.22 show only the mode."""
    live = {str(row["name"]): row for row in rows}
    return [fault for user, own in limits.items() if (fault := _fault(live.get(user), user, own))]


def _fault(row: Mapping[str, object] | None, user: str, own: Mapping[str, str]) -> str:
    if row is None:
        return _("the pooler has no limits for user %(user)s") % {"user": user} if own else ""
    live = {name: str(row[name]).strip() for name in own if name in row}  # since 1.24 numbers are padded with blanks
    for name, value in live.items():
        if value != own[name]:
            described = {"user": user, "name": name, "live": value, "wanted": own[name]}
            return _("the pooler has user %(user)s with %(name)s %(live)s, not %(wanted)s") % described
    return ""
