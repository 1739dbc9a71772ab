"""Rules of who may log in to which pool, as text: HBA rules before those that the operator's own set-up amounts to.

An entry with `user=` lets in every user that PgBouncer knows, and its server session is the fixed user's. HBA rules see
the entry's name as the database and the client's name as the user, and the first that matches decides (src/hba.c; seen
on 1.18, 1.24 and 1.26). A pool's own users meet the operator's rules narrowed to them, all others a `reject`.

Physical replication (since 1.23) meets only rules of the database `replication`: it is refused unless the operator's
own file has one.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

from django.utils.translation import gettext as _

from pools.models import Pool, admitted_roles
from pools.poolers.pgbouncer import database_entries, hba

HEAD = "# Pooldeck writes this file and replaces it with each apply; rules of your own belong in your auth_hba_file.\n"
METHODS = {
    "md5": "md5",
    "scram-sha-256": "scram-sha-256",
    "plain": "password",
    "trust": "trust",
    "cert": "cert",
    "ldap": "ldap",
}  # the keys are values of auth_type
PLACES = (("local", ""), ("host", "0.0.0.0/0 "), ("host", "::/0 "))  # `all` is not an address before 1.23
BY_TLS = (("hostssl", "0.0.0.0/0 "), ("hostssl", "::/0 "))  # A client can show a certificate over TLS only.
POOL = re.compile(r"\n# pool ([0-9a-f-]{36}) (\S+)(?: by (\S+))?: ([^\n]+)")  # `^` would be tried at each letter
OWN = re.compile(r"\n# own (\w+) = ([^\n]*)")
UNUSED = re.compile(r"\n# not in use: ([^\n]*)")
NAME = re.compile(r'"((?:[^"]|"")*)"')
BY_PASSWORD = re.compile(r"(?<=\s)(?:md5|scram-sha-256|password)(?=\s|$)")  # the method, where it asks for a password
ALL, SAME_USER = "all", "sameuser"


class Admission(NamedTuple):
    """A pool (its key and its name) and the roles that may log in to it.

    `method`: how they prove their passwords (a method of HBA rules); empty: as the operator's rules say.
    """

    pool: str
    name: str
    users: tuple[str, ...]
    method: str = ""


@dataclass(frozen=True)
class _Alike:
    """The names of pools that admit the same users, who prove their passwords alike.

    Both lists are written once: ten thousand pools are mostly alike, and most rules are about all of them.
    """

    users: tuple[str, ...]
    method: str
    names: list[str]

    @cached_property
    def listed_names(self) -> str:
        """All names, as rules list them."""
        return _listed(self.names)

    @cached_property
    def listed_users(self) -> str:
        """All users, as rules list them."""
        return _listed(self.users)


class Rule(NamedTuple):
    """A rule of the operator's; a quoted name keeps its opening quote, `rest` is all behind the users."""

    kind: str
    databases: list[str]
    users: list[str]
    rest: str


def admissions_of(pools: Iterable[Pool]) -> dict[str, Admission]:
    """Return the admissions of the pools that are not open to every user that PgBouncer knows, by the pools' keys.

    A pool of the inbound user admits the look-up's role too, as which the panel verifies it.
    """
    users_of = cache(_admitted_users)  # ten thousand pools mostly admit the same users
    found = {}
    for pool in pools:
        lookup = "" if pool.user else database_entries.lookup_role(pool)
        if users := users_of(pool.user, pool.allowed_users, lookup):
            found[pool.key] = Admission(pool.key, pool.name, users, pool.auth_method)
    return found


def _admitted_users(user: str, allowed_users: str, lookup: str) -> tuple[str, ...]:
    admitted = admitted_roles(user, allowed_users)
    return tuple(sorted({*admitted, lookup} - {""})) if admitted else ()


def read(text: str) -> dict[str, Admission]:
    """Return the admissions of a file that `render` wrote, by the keys of their pools."""
    users_of = cache(_names)  # ten thousand pools mostly admit the same users
    return {key: Admission(key, name, users_of(users), by) for key, name, by, users in POOL.findall(text)}


def _with_first_line(text: str) -> str:
    """Return a text in which a line end stands before each line: of a file by hand the first may be one of these."""
    return f"\n{text}"


def own_in(text: str) -> dict[str, str]:
    """Return the operator's own settings, as they were when `render` wrote the file."""
    return dict(OWN.findall(_with_first_line(text)))


def obstacle_in(text: str) -> str:
    """Return why the rules are not in use; empty where they are."""
    found = UNUSED.search(_with_first_line(text))
    return found[1] if found else ""


def of_method(auth_type: str, options: str = "") -> str:
    """Return the rules that do what an auth_type does alone; none for one that no rule can name.

    `options` are those of LDAP: a rule takes none from auth_ldap_options (seen on 1.26).
    """
    if auth_type not in METHODS:
        return ""
    places = BY_TLS if auth_type == "cert" else PLACES
    method = f"{METHODS[auth_type]} {options}".rstrip()
    return "".join(f"{kind} all all {address}{method}\n" for kind, address in places)


def obstacle(auth_type: str) -> str:
    """Return why no rule does what an auth_type does; empty where one does.

    Under `any` clients have no name, and PgBouncer asks PAM for all its clients or for none (its manual, "HBA file
    format": both "only work globally", in each release up to 1.26).
    """
    if auth_type == "hba" or auth_type in METHODS:
        return ""
    return _(
        "auth_type %(auth_type)s can't be combined with rules for single pools, since PgBouncer has it for all clients "
        "or for none: use scram-sha-256, md5, plain, trust, cert, ldap or hba"
    ) % {"auth_type": auth_type}


def render(admissions: Iterable[Admission], own: Mapping[str, str], rules: str, unused: str = "") -> str:
    """Render the file; `own` is recorded, `rules` are the operator's. With `unused`, the reason, it has no rule."""
    listed = list(admissions)
    groups = _groups(listed)
    head = [f"# own {name} = {value}" for name, value in own.items()]
    head += [_record(one, groups[one.users, one.method].listed_users) for one in listed]
    if unused:
        return HEAD + "\n".join([*head, f"# not in use: {unused}", ""])
    parts = ["# Who may log in to the pools:", *_admitting(groups.values(), rules)]
    parts += ["# All others are refused there:", *_refusing(listed)]
    return HEAD + "\n".join([*head, *parts, "# The operator's own, for all else:", rules.rstrip("\n"), ""])


def _groups(admissions: Iterable[Admission]) -> dict[tuple[tuple[str, ...], str], _Alike]:
    """Return the admissions that are alike together, by their users and method."""
    found: dict[tuple[tuple[str, ...], str], _Alike] = {}
    for one in admissions:
        key = (one.users, one.method)
        if key not in found:
            found[key] = _Alike(*key, [])
        found[key].names.append(one.name)
    return found


def _record(admission: Admission, users: str) -> str:
    """Return the comment by which `read` finds an admission again; `users` are its users as rules list them."""
    by = f" by {admission.method}" if admission.method else ""
    return f"# pool {admission.pool} {admission.name}{by}: {users}"


def _admitting(groups: Iterable[_Alike], rules: str) -> Iterator[str]:
    """Yield each rule of the operator's, in their order, narrowed to the users of the pools that it is about."""
    listed = list(groups)
    for rule in _rules(rules):
        for alike in listed:
            yield from _narrowed(_by_method(rule, alike.method), alike)


def _by_method(rule: Rule, method: str) -> Rule:
    """Return the rule with this password method in place of its own; as it is where it asks for no password."""
    return rule._replace(rest=BY_PASSWORD.sub(method, rule.rest, count=1)) if method else rule


def _narrowed(rule: Rule, alike: _Alike) -> Iterator[str]:
    admitted = [user for user in alike.users if _is_named(user, rule.users)]
    about = _names_about(rule, alike)
    if admitted and about:
        yield f"{rule.kind} {about} {_listed(admitted)}{rule.rest}"
    if SAME_USER in rule.databases and ALL not in rule.databases:
        for name in alike.names:
            if name in admitted and not _is_named(name, rule.databases):
                yield f"{rule.kind} {_listed([name])} {_listed([name])}{rule.rest}"


def _names_about(rule: Rule, alike: _Alike) -> str:
    """Return the names of the pools that a rule is about, as rules list them; empty for none."""
    if ALL in rule.databases:
        return alike.listed_names
    return _listed(name for name in alike.names if _is_named(name, rule.databases))


def _refusing(admissions: Sequence[Admission]) -> list[str]:
    names = _listed(admission.name for admission in admissions)
    return [f"{kind} {names} all {address}reject" for kind, address in PLACES]


def _is_named(name: str, names: list[str]) -> bool:
    return ALL in names or hba.QUOTE + name in names or (name in names and name != SAME_USER)


def _rules(text: str) -> Iterator[Rule]:
    """Yield the rules, without lines that PgBouncer skips because their first fields can't be read."""
    for line in text.splitlines():
        fields, rest = hba.first_fields(line)
        is_read = len(fields) == 3 and fields[0][0] in hba.TYPES
        if is_read and all(map(hba.is_read, (*fields[1], *fields[2]))):
            yield Rule(fields[0][0], fields[1], fields[2], rest)


def _listed(names: Iterable[str]) -> str:
    return ",".join(['"' + name.replace('"', '""') + '"' for name in names])


def _names(listed: str) -> tuple[str, ...]:
    return tuple(name.replace('""', '"') for name in NAME.findall(listed))
