"""Session features that a pool mode breaks, found in the text of statements, with the remedy for each."""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from pools.advice.client_limits import KEEPS_PREPARED, ClientLimits
from pools.clusters import literals
from pools.models import Mode

SHARED = frozenset({Mode.TRANSACTION, Mode.STATEMENT})  # a server connection goes to another client in between
STATEMENT = frozenset({Mode.STATEMENT})
ONE_SETTING = re.compile(r"SET\s+(?:SESSION\s+)?(?P<name>[\w.]+)", re.IGNORECASE)
# literals, quoted names and comments hold no statement of their own
NOISE = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|/\*.*?\*/|\$(\w*)\$.*?\$\1\$""", re.DOTALL)
# Every PgBouncer restores these for each client (its config manual, track_extra_parameters).
TRACKED = "client_encoding|datestyle|timezone|time\\s+zone|standard_conforming_strings|application_name|names"
SAMPLE_LENGTH = 200
LOCKS = "pg_locks"
Text = str | Promise


@dataclass(frozen=True)
class Habit:
    """A feature that outlives a transaction (or a statement), how to recognize it, and what to do instead."""

    name: Text
    pattern: re.Pattern[str]
    breaks_in: frozenset[Mode]
    happens: Text
    instead: Text


@dataclass(frozen=True)
class Statement:
    """A statement as a view of the server shows it; `calls` is 0 where the view does not count them."""

    text: str
    calls: int = 0
    source: str = ""


@dataclass(frozen=True)
class Finding:
    """A session feature in use: the numbers of statements and calls, and one statement (at most 200 characters)."""

    habit: Habit
    statements: int
    calls: int
    sample: str
    sources: tuple[str, ...]


def _habit(name: Text, pattern: str, breaks_in: frozenset[Mode], happens: Text, instead: Text) -> Habit:
    return Habit(name, re.compile(pattern, re.IGNORECASE | re.DOTALL), breaks_in, happens, instead)


HABITS = (
    _habit(
        "SET",
        rf"^SET\s+(?:SESSION\s+)?(?!(?:LOCAL|TRANSACTION|CONSTRAINTS|SESSION|AUTHORIZATION|CHARACTERISTICS|ROLE|{TRACKED})\b)",
        SHARED,
        _("the setting stays with a server connection: later transactions of this client miss it, others get it"),
        _("use SET LOCAL inside the transaction, or ALTER ROLE … SET for all sessions of the role"),
    ),
    _habit(
        "SET ROLE",
        r"^SET\s+(?:SESSION\s+)?(?:ROLE\b|AUTHORIZATION\b)|^SET\s+SESSION\s+CHARACTERISTICS\b",
        SHARED,
        _("another client's transaction runs with these rights or characteristics"),
        _("use SET LOCAL ROLE inside the transaction, or a pool of that role's own"),
    ),
    _habit(
        "set_config()",
        r"\bset_config\s*\(",
        SHARED,
        _("with false as its third argument it is a SET for the session, which another client then gets"),
        _("give true as the third argument, so that it ends with the transaction"),
    ),
    _habit(
        "LISTEN",
        r"^LISTEN\b",
        SHARED,
        _("the server connection goes back to the pool, and its notifications reach no client or another one"),
        _("let the listener log in directly or through a session pool; NOTIFY may stay"),
    ),
    _habit(
        _("PREPARE in SQL"),
        r"^(?:PREPARE\s+(?!TRANSACTION\b)|EXECUTE\b|DEALLOCATE\s+(?!ALL\b))",
        SHARED,
        _("the statement exists on one server connection only, the next transaction may not find it"),
        _("let the driver prepare by the protocol: PgBouncer from 1.21 keeps those (max_prepared_statements)"),
    ),
    _habit(
        _("session advisory lock"),
        # pg_advisory_unlock_all() is left out: drivers run it to clean up after themselves, and it takes no lock.
        r"\bpg_(?:try_)?advisory_(?:un)?lock(?:_shared)?\s*\(",
        SHARED,
        _("the lock stays with a server connection that others use, and the unlock may run on another one"),
        _("use pg_advisory_xact_lock, which ends with the transaction"),
    ),
    _habit(
        _("temporary table"),
        r"^CREATE\s+(?:(?:GLOBAL|LOCAL)\s+)?TEMP(?:ORARY)?\s+(?!.*\bON\s+COMMIT\s+DROP\b)|\bINTO\s+TEMP(?:ORARY)?\s",
        SHARED,
        _("the table stays with one server connection: this client loses it, another one finds it"),
        _("create it ON COMMIT DROP and use it in the same transaction"),
    ),
    _habit(
        _("WITH HOLD cursor"),
        r"^DECLARE\b.*\bWITH\s+HOLD\b",
        SHARED,
        _("the cursor stays with one server connection after the transaction"),
        _("fetch inside the transaction, or page by a key"),
    ),
    _habit(
        "LOAD",
        r"^LOAD\b",
        SHARED,
        _("the library is loaded into one server connection"),
        _("put it into session_preload_libraries of the role or the database"),
    ),
    _habit(
        _("currval() or lastval()"),
        r"\b(?:currval|lastval)\s*\(",
        SHARED,
        _(
            "outside the transaction of the INSERT it runs in another session, "
            "which has no such value or another client's"
        ),
        _("use INSERT … RETURNING"),
    ),
    _habit(
        _("transaction of several statements"),
        r"^(?:BEGIN|START\s+TRANSACTION|COMMIT|END|ROLLBACK|SAVEPOINT|DECLARE(?!.*\bWITH\s+HOLD))\b",
        STATEMENT,
        _("PgBouncer refuses it in statement mode"),
        _("use transaction mode, or autocommit for every statement"),
    ),
)


def find(
    statements: Iterable[Statement], mode: str, is_kept: Callable[[str], bool] = lambda _parameter: False
) -> list[Finding]:
    """Return the session features in these statements that the mode breaks, the most called first.

    `is_kept` tells of a parameter whether the pooler keeps a SET of it for each client.
    """
    judged = [habit for habit in HABITS if mode in habit.breaks_in]
    by_feature: dict[Text, list[Statement]] = {}
    for statement in statements:
        for habit in _habits_of(statement.text, judged, is_kept):
            by_feature.setdefault(habit.name, []).append(statement)
    found = [_finding(habit, by_feature[habit.name]) for habit in judged if habit.name in by_feature]
    return sorted(found, key=lambda finding: -finding.calls)


def _habits_of(text: str, judged: Sequence[Habit], is_kept: Callable[[str], bool]) -> set[Habit]:
    pieces = [piece.strip() for piece in NOISE.sub(_still, text).split(";")]
    pieces = [piece for piece in pieces if not _is_kept_setting(piece, is_kept)]
    return {habit for habit in judged for piece in pieces if habit.pattern.search(piece)}


def _is_kept_setting(piece: str, is_kept: Callable[[str], bool]) -> bool:
    setting = ONE_SETTING.match(piece)
    return bool(setting and is_kept(setting["name"].lower()))


def _still(noise: re.Match[str]) -> str:
    """Replace a comment by a blank, and a literal or a quoted name by a word."""
    return " " if noise[0].startswith(("--", "/*")) else " x "


def _finding(habit: Habit, statements: Collection[Statement]) -> Finding:
    most = max(statements, key=lambda statement: statement.calls)
    return Finding(
        habit=habit,
        statements=len(statements),
        calls=sum(statement.calls for statement in statements),
        sample=" ".join(_shown(most).split())[:SAMPLE_LENGTH],
        sources=tuple(sorted({statement.source for statement in statements})),
    )


def _shown(statement: Statement) -> str:
    """Return it without literals, which pg_stat_statements keeps in utility statements; a lock's key stays."""
    return statement.text if statement.source == LOCKS else literals.without(statement.text)


def of_prepared_statements(limits: ClientLimits) -> str:
    """Say whether statements that drivers prepare by the protocol survive; no view of the server shows them."""
    if limits.version < KEEPS_PREPARED:
        return gettext(
            "prepared statements of the protocol break before PgBouncer 1.21, and this is %(release)s: "
            "turn them off in the driver"
        ) % {"release": f"{limits.version[0]}.{limits.version[1]}"}
    if not limits.keeps_prepared:
        return gettext(
            "prepared statements of the protocol break while max_prepared_statements is 0: set it, or turn them off"
        )
    return gettext("prepared statements of the protocol are kept, up to max_prepared_statements")
