"""What names and values the poolers can carry; each check answers what is wrong, or nothing."""

import re

POOL_NAME = re.compile(r"[A-Za-z0-9_.-]{1,63}")
LINE_BREAKERS = re.compile(r"[\r\n\0]")
HASHED = re.compile(r"md5[0-9a-fA-F]{32}|SCRAM-SHA-256\$.*", re.DOTALL)
LONGEST_IDENTIFIER = 63  # bytes, PostgreSQL's NAMEDATALEN - 1
LONGEST_PASSWORD = 1024  # bytes; PgBouncer 1.18 takes 1000 and refuses 3000


def pool_name_problem(name: str) -> str:
    """Why a pool can't have this name; PgBouncer 1.18 reads no other characters (reference: its cfparser.c)."""
    if name.lower() == "pgbouncer":
        return f"{name!r} is the name of PgBouncer's own console: choose another"
    if not POOL_NAME.fullmatch(name):
        return f"{name!r} can't name a pool: use 1 to 63 of the letters a-z A-Z, digits, and _ . -"
    return ""


def line_problem(value: str) -> str:
    """Why a value can't stand on one line of a configuration file: a line break would smuggle in another setting."""
    if LINE_BREAKERS.search(value):
        return f"{value!r} holds a line break or a NUL: leave it out"
    return ""


def identifier_problem(name: str) -> str:
    """Why this can't be the name of a database or a role."""
    if not name:
        return "a name is needed"
    if len(name.encode()) > LONGEST_IDENTIFIER:
        return f"{name!r} is {len(name.encode())} bytes long: PostgreSQL's names have at most {LONGEST_IDENTIFIER}"
    return line_problem(name)


def host_problem(host: str) -> str:
    """Why this can't be one host name, address or socket directory."""
    if not host:
        return "a host name, an address or a socket directory is needed"
    if "," in host:
        return f"{host!r} names several hosts: register each as a cluster of its own"
    if "://" in host or "@" in host:
        return f"{host!r} is more than a host: give the host alone, the port and the user have fields of their own"
    if re.search(r"\s|\0", host) and not host.startswith("/"):
        return f"{host!r} holds a space: a host name or an address has none"
    return line_problem(host)


def password_problem(password: str) -> str:
    """Why a password can't stand in a pooler's user list; the answer never holds the password."""
    if LINE_BREAKERS.search(password) or "\ufeff" in password:
        return "the password holds a line break, a NUL or a byte order mark: poolers can't carry it, set another"
    if HASHED.fullmatch(password):
        return "the password looks like a stored hash and poolers would read it as one: give it in clear"
    if len(password.encode()) > LONGEST_PASSWORD:
        return f"the password is longer than the {LONGEST_PASSWORD} bytes that poolers carry: set a shorter one"
    return ""


def new_name_problem(name: str) -> str:
    """Why the panel makes no database or role of this name."""
    if "/" in name:
        return f"{name!r} holds a slash, which addresses of the API can't carry: leave it out"
    return identifier_problem(name)
