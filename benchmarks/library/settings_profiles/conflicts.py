"""What stands above a profile: what others set while it was in force, and what roles and databases have as theirs."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pools.clusters import connect

Texts = Mapping[str, str | None]  # by name, what postgresql.auto.conf holds; None: no line
_OWN = """
    SELECT split_part(one, '=', 1), substr(one, strpos(one, '=') + 1), coalesce(r.rolname, ''), coalesce(d.datname, '')
      FROM pg_db_role_setting s
     CROSS JOIN unnest(s.setconfig) one
      LEFT JOIN pg_roles r ON r.oid = s.setrole
      LEFT JOIN pg_database d ON d.oid = s.setdatabase
     WHERE split_part(one, '=', 1) = ANY(%s)
     ORDER BY s.setrole <> 0 DESC, s.setdatabase <> 0 DESC, 3, 4
"""


def to_bring_back(values: Texts, before: Texts, now: Texts) -> dict[str, str | None]:
    """What of `before` is still the panel's to bring back: settings that hold the profile's value, or what was before
    because a worker died half-way. Texts are compared: the file holds them as they were set."""
    return {name: text for name, text in before.items() if now[name] in (values[name], text)}


def left_as_they_are(values: Texts, before: Texts, now: Texts) -> list[str]:
    """A sentence for each setting that somebody else changed while the profile was in force."""
    ours = to_bring_back(values, before, now)
    return [
        f"{name} was {'reset' if now[name] is None else f'changed to {now[name]}'} by somebody else while the profile "
        "was in force: left so"
        for name in before
        if name not in ours
    ]


@dataclass(frozen=True)
class Own:
    """A value that a role or a database has of its own (ALTER ROLE, ALTER DATABASE); an empty name stands for all."""

    name: str
    value: str
    role: str
    database: str

    @property
    def whose(self) -> str:
        """`role app in database shop`."""
        role = f"role {self.role}" if self.role else "all roles" if not self.database else ""
        return " in ".join(part for part in (role, self.database and f"database {self.database}") if part)

    @property
    def reset(self) -> str:
        """The command that takes it away."""
        if not self.role and self.database:
            return f"ALTER DATABASE {self.database} RESET {self.name}"
        where = f" IN DATABASE {self.database}" if self.database else ""
        return f"ALTER ROLE {self.role or 'ALL'}{where} RESET {self.name}"

    def holds_for(self, role: str, database: str) -> bool:
        """Whether sessions of that role in that database begin with it."""
        return self.role in ("", role) and self.database in ("", database)


def own_values(connection: connect.Connection, names: Iterable[str]) -> list[Own]:
    """Those of all roles and databases, in the order in which PostgreSQL lets one go before another."""
    return [Own(*row) for row in connection.execute(_OWN, (list(names),)).fetchall()]
