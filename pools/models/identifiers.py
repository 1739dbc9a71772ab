"""Names and values that the poolers can carry; each check returns the problem, or an empty text."""

import re

from django.utils.translation import gettext as _

POOL_NAME = re.compile(r"[A-Za-z0-9_.-]{1,63}")
EXPERIMENTS_OWN = re.compile(r"pooldeck_(experiment_[0-9]+)(?![0-9])")
LINE_BREAKERS = re.compile(r"[\r\n\0]")
HASHED = re.compile(r"md5[0-9a-fA-F]{32}|SCRAM-SHA-256\$.*", re.DOTALL)
LONGEST_IDENTIFIER = 63  # bytes, PostgreSQL's NAMEDATALEN - 1
LONGEST_PASSWORD = 1024  # bytes; PgBouncer 1.18 accepts 1000 and refuses 3000


def pool_name_problem(name: str) -> str:
    """Return why a pool can't have this name; PgBouncer 1.18 reads no other characters (its cfparser.c)."""
    if name.lower() == "pgbouncer":
        return _("%(name)r is the name of PgBouncer's own console: choose another") % {"name": name}
    if not POOL_NAME.fullmatch(name):
        text = _("%(name)r can't name a pool: use 1 to 63 of the letters a-z A-Z, digits, and _ . -")
        return text % {"name": name}
    return ""


def line_problem(value: str) -> str:
    """Return why a value can't be on one line of a configuration file: a line break would inject another setting."""
    if LINE_BREAKERS.search(value):
        return _("%(value)r contains a line break or a NUL: leave it out") % {"value": value}
    return ""


def identifier_problem(name: str) -> str:
    """Return why this can't be the name of a database or a role."""
    if not name:
        return _("a name is needed")
    if len(name.encode()) > LONGEST_IDENTIFIER:
        text = _("%(name)r is %(length)s bytes long: PostgreSQL's names have at most %(longest)s")
        return text % {"name": name, "length": len(name.encode()), "longest": LONGEST_IDENTIFIER}
    return line_problem(name)


def host_problem(host: str) -> str:
    """Return why this can't be one host name, address or socket directory."""
    if not host:
        return _("a host name, an address or a socket directory is needed")
    if "," in host:
        return _("%(host)r names several hosts: register each as a cluster of its own") % {"host": host}
    if host.startswith("[") or host.endswith("]"):
        text = _("%(host)r has brackets, which only URLs need: write %(plain)s")
        return text % {"host": host, "plain": host.strip("[]").partition("]")[0] or "::1"}
    if "://" in host or "@" in host:
        text = _("%(host)r is more than a host: give the host alone, the port and the user have fields of their own")
        return text % {"host": host}
    if re.search(r"\s|\0", host) and not host.startswith("/"):
        return _("%(host)r contains a space: a host name or an address has none") % {"host": host}
    return line_problem(host)


def password_problem(password: str) -> str:
    """Return why a password can't be in a pooler's user list; the text never contains the password."""
    if LINE_BREAKERS.search(password) or "\ufeff" in password:
        return _("the password contains a line break, a NUL or a byte order mark: poolers can't carry it, set another")
    if HASHED.fullmatch(password):
        return _("the password looks like a stored hash and poolers would read it as one: give it in clear")
    if len(password.encode()) > LONGEST_PASSWORD:
        text = _("the password is longer than the %(longest)s bytes that poolers carry: set a shorter one")
        return text % {"longest": LONGEST_PASSWORD}
    return ""


def new_name_problem(name: str) -> str:
    """Return why the panel creates no database or role of this name."""
    if "/" in name:
        text = _("%(name)r contains a slash, which URLs of the API can't carry: leave it out")
        return text % {"name": name}
    return identifier_problem(name)


def experiment_of(name: str) -> str:
    """Return the experiment that made a database or role for itself, by its name: `experiment 12`; empty of others'.

    The server has no place for a mark that a role without rights could not write, so the name is the mark.
    """
    found = EXPERIMENTS_OWN.match(name)
    return found[1].replace("_", " ") if found else ""
