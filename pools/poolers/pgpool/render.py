"""The files of a Pgpool-II: in each, what stands above the mark is the operator's and what follows is the panel's."""

import re
from collections.abc import Iterable, Mapping

from pools.poolers.pgpool.hba_access import PLACES, Access, quoted
from pools.poolers.shown_secrets import MASK

MAIN, PASSWD, HBA, PCP = "pgpool.conf", "pool_passwd", "pool_hba.conf", "pcp.conf"
FILES = (PASSWD, HBA, PCP, MAIN)
# It ends with a colon because pool_passwd knows no comments: so it is a line of a user that nobody can be.
MARK = "# ---- Pooldeck replaces what follows with each apply; what stands above is kept:\n"
# A reload leaves alone what no longer stands in the file, so what was taken out is said as it was.
AS_IT_WAS = "# what was taken out, as it was before:\n"
GIVEN_RULES = "# rules given in Pooldeck:\n"
SETTING = re.compile(r"^[ \t]*(\w+)[ \t]*=?[ \t]*(?:'([^'\n]*)'|([^\s#']+))", re.MULTILINE)
SECRETS = re.compile(r"^(\s*\w*(?:password|authkey)\w*\s*=?\s*)(?:'[^'\n]*'?|\S+)", re.IGNORECASE | re.MULTILINE)
WORDS = re.compile(r"(?:\\.|[^\\:])+")  # words stand between colons; a backslash takes the next character along
BARE = re.compile(r"-?\d+|on|off")


def kept(text: str) -> str:
    """Return the operator's part: all of it before the first apply."""
    return text.split(MARK)[0]


def ours(text: str) -> str:
    """Return the panel's part."""
    return text.partition(MARK)[2]


def lasting(text: str) -> str:
    """Return the panel's part without the lines that only restore settings."""
    return ours(text).split(AS_IT_WAS)[0]


def file(above: str, below: str) -> str:
    """Join the operator's part, unchanged, and the panel's part."""
    if above and not above.endswith("\n"):
        above += "\n"
    return above + MARK + below


def settings(values: Mapping[str, str]) -> str:
    """Lines of pgpool.conf in the mapping's order; the later of two lines of a name wins (seen on 4.3 and 4.6)."""
    return "".join(f"{name} = {_literal(value)}\n" for name, value in values.items())


def restoring_settings(values: Mapping[str, str]) -> str:
    """Lines at the end of the panel's part that bring settings back."""
    return AS_IT_WAS + settings(values) if values else ""


def values_in(text: str) -> dict[str, str]:
    """Name → value of a pgpool.conf, the last of each name."""
    return {name: inside or bare for name, inside, bare in SETTING.findall(text)}


def passwords(secrets: Mapping[str, str]) -> str:
    """Lines of pool_passwd: in clear, because SCRAM towards the server needs the password itself."""
    return "".join(f"{_escaped(user)}:TEXT{_escaped(secret)}\n" for user, secret in sorted(secrets.items()))


def users_in(text: str) -> dict[str, str]:
    """User → password in clear of a pool_passwd; empty for one that is stored in another way."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        user, secret, *_ = *WORDS.findall(line), "", ""
        if secret and not line.startswith("#"):
            found.setdefault(_plain(user), _plain(secret.removeprefix("TEXT")) if secret.startswith("TEXT") else "")
    return found


def given_rules(text: str) -> str:
    """Return the lines of a pool_hba.conf that were given to the panel."""
    return ours(text).partition(GIVEN_RULES)[2]


def admissions(accesses: Iterable[Access], admin: str, given: str = "") -> str:
    """Lines of pool_hba.conf: the panel's own login first, then one rule for each pool, then those that were given."""
    lines = [f"{place} all {quoted(admin)}{address} scram-sha-256\n" for place, address in PLACES]
    lines += [access.lines() for access in sorted(accesses, key=lambda one: one.database)]
    return "".join(lines) + (GIVEN_RULES + given if given else "")


def masked(texts: Mapping[str, str]) -> dict[str, str]:
    """Return the files with dots for secrets."""
    return {name: _masked(name, text) for name, text in texts.items()}


def _masked(name: str, text: str) -> str:
    if name in (PASSWD, PCP):
        return re.sub(r"(?m)^(?!#)((?:[^:\n\\]|\\.)*:).+$", rf"\g<1>{MASK}", text)
    if name.endswith(".pem"):
        return MASK
    return SECRETS.sub(rf"\g<1>{MASK}", text)


def _literal(value: str) -> str:
    return value if BARE.fullmatch(value) else f"'{value}'"


def _escaped(value: str) -> str:
    """Escape the colon that would end the word (src/auth/pool_passwd.c)."""
    return re.sub(r"[\\:]", r"\\\g<0>", value)


def _plain(value: str) -> str:
    return re.sub(r"\\(.)", r"\g<1>", value)
