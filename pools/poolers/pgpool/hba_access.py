"""What a pool is on a Pgpool-II: the rules of pool_hba.conf that let its user in to its database, and back."""

import re
import stringprep
import unicodedata
from dataclasses import dataclass
from uuid import UUID

from django.utils.translation import gettext as _

from pools.models import Pool, identifiers
from pools.poolers.faults import Rejected

RULES = re.compile(r'^# pool (?P<pool>[0-9a-f-]{36})\nlocal "(?P<database>[^"\n]+)" (?:all|"(?P<user>[^"\n]+)") ', re.M)
BY_OPERATOR = re.compile(
    r'^# pool (?P<pool>[0-9a-f-]{36}) by rules above: "(?P<database>[^"\n]+)" (?:all|"(?P<user>[^"\n]+)")$', re.M
)
PLACES = (("local", ""), ("host", " 0.0.0.0/0"), ("host", " ::/0"))
LONGEST_PASSWORD = 124  # bytes: words of pool_passwd are cut at 128 (src/auth/pool_passwd.c), TEXT among them
# words of pool_hba.conf that mean many databases or users, quoted or not
WORDS = frozenset({"all", "sameuser", "samerole", "samegroup", "replication"})


@dataclass(frozen=True)
class Access:
    """The admission to a database; without `user` of every role that pool_passwd knows."""

    pool: UUID
    database: str
    user: str
    by_operator: bool = False  # rules of the operator's part let in to it, as before the pooler was taken over

    def lines(self) -> str:
        """Render the rules under a comment that names the pool."""
        user = quoted(self.user) if self.user else "all"
        if self.by_operator:
            return f"# pool {self.pool} by rules above: {quoted(self.database)} {user}\n"
        rules = [f"{place} {quoted(self.database)} {user}{address} scram-sha-256" for place, address in PLACES]
        return "\n".join([f"# pool {self.pool}", *rules, ""])


def of_pool(pool: Pool) -> Access:
    """Return the rules that a pool asks for; raises `Rejected` where Pgpool-II would misread them."""
    for field, value in (("database", pool.database), ("user", pool.user)):
        if value and (problem := name_problem(value)):
            params = {"field": field, "pool": pool, "problem": problem}
            raise Rejected(_("%(field)s of pool %(pool)s: %(problem)s") % params, pool.pk)
    return Access(pool.pk, pool.database, pool.user)


def read(text: str) -> list[Access]:
    """Parse the rules of a file that this module wrote; other lines are skipped."""
    written = [Access(UUID(found["pool"]), found["database"], found["user"] or "") for found in RULES.finditer(text)]
    others = BY_OPERATOR.finditer(text)
    return written + [Access(UUID(one["pool"]), one["database"], one["user"] or "", by_operator=True) for one in others]


def quoted(name: str) -> str:
    """Quote a name for pool_hba.conf; there is no escape, so `name_problem` refuses quotes."""
    return f'"{name}"'


def name_problem(name: str) -> str:
    """Why this database or role can't stand in pool_hba.conf, pool_passwd and pgpool.conf; empty when it can."""
    if signs := sorted(set(name) & set("\"',#\r\n\0")):
        return _("%(name)r holds %(signs)r, which Pgpool-II's files can't carry: use a PgBouncer for it") % {
            "name": name,
            "signs": " ".join(signs),
        }
    if name.lower() in WORDS:
        return _("%(name)r means more than one name in pool_hba.conf: use a PgBouncer for it") % {"name": name}
    if name.startswith(("+", "@")):
        return _("%(name)r is read as a group or a file by pool_hba.conf: use a PgBouncer for it") % {"name": name}
    return ""


def password_problem(password: str) -> str:
    """Why a password can't stand in pool_passwd; the answer never holds it."""
    if problem := identifiers.password_problem(password):
        return problem
    if len(password.encode()) > LONGEST_PASSWORD:
        return _("the password is longer than the %(longest)s bytes that pool_passwd carries: set a shorter one") % {
            "longest": LONGEST_PASSWORD
        }
    if _prepared(password) != password:
        return _(
            "the password holds letters that SCRAM writes otherwise (RFC 4013) and Pgpool-II does not: set another"
        )
    return ""


def _prepared(password: str) -> str:
    """Normalize the password by SASLprep, as libpq and PostgreSQL do and Pgpool-II does not (seen)."""
    kept = (" " if stringprep.in_table_c12(sign) else sign for sign in password if not stringprep.in_table_b1(sign))
    return unicodedata.normalize("NFKC", "".join(kept))
