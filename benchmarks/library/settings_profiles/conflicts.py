"""Conflicts of a profile: settings that others changed while it was in force, and values of roles and databases."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.utils.translation import gettext as _

from pools.clusters import connect

Texts = Mapping[str, str | None]  # name → the value in postgresql.auto.conf; None: no line
_OWN = """
    SELECT split_part(one, '=', 1), substr(one, strpos(one, '=') + 1), coalesce(r.rolname, ''), coalesce(d.datname, '')
      FROM pg_db_role_setting s
     CROSS JOIN unnest(s.setconfig) one
      LEFT JOIN pg_roles r ON r.oid = s.setrole
      LEFT JOIN pg_database d ON d.oid = s.setdatabase
     WHERE split_part(one, '=', 1) = ANY(%s)
     ORDER BY s.setrole <> 0 DESC, s.setdatabase <> 0 DESC, 3, 4
"""


def to_restore(values: Texts, before: Texts, now: Texts) -> dict[str, str | None]:
    """Return the part of `before` that the panel still has to restore.

    Those are settings that hold the profile's value, or the value before because a worker died half-way. Texts are
    compared: the file holds them as they were set.
    """
    return {name: text for name, text in before.items() if now[name] in (values[name], text)}


def left_as_they_are(values: Texts, before: Texts, now: Texts) -> list[str]:
    """Return a sentence for each setting that somebody else changed while the profile was in force."""
    restored = to_restore(values, before, now)
    return [_changed(name, now[name]) for name in before if name not in restored]


def _changed(name: str, value: str | None) -> str:
    if value is None:
        return _("%(name)s was reset outside the panel while the profile was in force: its new value was kept") % {
            "name": name
        }
    text = _(
        "%(name)s was changed to %(value)s outside the panel while the profile was in force: its new value was kept"
    )
    return text % {"name": name, "value": value}


@dataclass(frozen=True)
class RoleSetting:
    """A value that a role or a database has of its own (ALTER ROLE, ALTER DATABASE); an empty name is all of them."""

    name: str
    value: str
    role: str
    database: str

    @property
    def sentence(self) -> str:
        """A sentence that names the role or database whose value it is."""
        words = {"role": self.role, "database": self.database, "value": self.value}
        if self.role and self.database:
            return _("role %(role)s in database %(database)s has %(value)s of its own") % words
        if self.role:
            return _("role %(role)s has %(value)s of its own") % words
        if self.database:
            return _("database %(database)s has %(value)s of its own") % words
        return _("all roles have %(value)s of their own") % words

    @property
    def reset(self) -> str:
        """The command that removes it."""
        if not self.role and self.database:
            return f"ALTER DATABASE {self.database} RESET {self.name}"
        where = f" IN DATABASE {self.database}" if self.database else ""
        return f"ALTER ROLE {self.role or 'ALL'}{where} RESET {self.name}"

    def holds_for(self, role: str, database: str) -> bool:
        """Test whether sessions of that role in that database start with it."""
        return self.role in ("", role) and self.database in ("", database)


def own_values(connection: connect.Connection, names: Iterable[str]) -> list[RoleSetting]:
    """Return those of all roles and databases, in PostgreSQL's order of precedence."""
    return [RoleSetting(*row) for row in connection.execute(_OWN, (list(names),)).fetchall()]
