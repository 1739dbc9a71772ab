"""Scripts of a run, pgbench's own and those of users, each with its weight: parsed, gated, described; pure.

A user's script is never a path: its text is written to a file that the panel names, in the run's private home.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256

from django.utils.translation import gettext as _

from benchmarks.engines import option_parsing, script_gate
from benchmarks.engines.base import Field
from benchmarks.engines.script_text import for_pgbench
from benchmarks.models.options import RunOptions, RunScript
from benchmarks.models.scripts import NAME_CHARACTERS

WRITING_BUILTINS = frozenset({"tpcb-like", "simple-update"})
CONTENDING_BUILTIN = "tpcb-like"
STATEMENTS = {"select-only": 1, "simple-update": 5, "tpcb-like": 7}
MOST_WEIGHT = 1_000_000
KEYS = ("text", "weight", "name", "version")
FILE_NAME_CHARACTERS = BEGINNING_CHARACTERS = 40
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9_]+")
_READS_SCALE = re.compile(r"(?<!:):scale(?![A-Za-z0-9_])")
_MAY_SET_SCALE = re.compile(r"\\[ \t]*set[ \t]+scale[ \t]|\\[ \t]*[ga]set", re.IGNORECASE)
_WEIGHED = re.compile(r"(?P<name>[a-z-]+)(?:@(?P<weight>[0-9]{1,7}))?")


@dataclass(frozen=True, slots=True)
class WeightedScript:
    """One script of a run in pgbench's order.

    `text` is None for one of pgbench's own, `words` are the arguments that start it, and `is_named` is False for a
    user's script without a name.
    """

    label: str
    weight: int
    words: tuple[str, str]
    text: str | None = None
    is_named: bool = True


def read_builtins(field: Field, value: object) -> str | list[str]:
    """Return `NAME` or `NAME@WEIGHT`, or a list of them; a single one stays a text. Raises ValueError."""
    names = value if isinstance(value, list) else [value]
    named: list[str] = []
    if not names:
        raise ValueError(
            _("an empty list names no script: use some of %(choices)s, or leave it out")
            % {"choices": ", ".join(field.choices)}
        )
    for one in names:
        found = _WEIGHED.fullmatch(one) if isinstance(one, str) else None
        if found is None or found["name"] not in field.choices:
            raise ValueError(
                _("%(value)s is not a script here: use %(choices)s, or one with @WEIGHT")
                % {"value": option_parsing.quoted(one), "choices": ", ".join(field.choices)}
            )
        _weight(int(found["weight"] or 1), found.string)
        named.append(found.string)
    return named[0] if len(named) == 1 else named


def read_scripts(_field: Field, value: object) -> list[RunScript]:
    """Return scripts as `{text, weight, name, version}`, gated; raise ValueError with the script and its line."""
    if not isinstance(value, list):
        raise ValueError(_('give a list of {"text": …, "weight": …}, or of {"script": …} from the library'))
    scripts = [_script(number, one) for number, one in enumerate(value, start=1)]
    try:
        script_gate.check_total([script["text"] for script in scripts])
    except script_gate.ScriptRefused as error:
        raise ValueError(str(error)) from error
    return scripts


def _script(number: int, given: object) -> RunScript:
    if not isinstance(given, dict) or not isinstance(given.get("text"), str):
        raise ValueError(_('script %(number)s is not a script: give {"text": …, "weight": …}') % {"number": number})
    if unknown := sorted(set(given) - set(KEYS)):
        raise ValueError(
            _("script %(number)s has %(unknown)s: use %(keys)s")
            % {"number": number, "unknown": ", ".join(map(str, unknown)), "keys": ", ".join(KEYS)}
        )
    name, version = given.get("name", ""), given.get("version")
    if not isinstance(name, str) or len(name) > NAME_CHARACTERS or not name.isprintable():
        raise ValueError(
            _("the name of script %(number)s is not usable: use at most %(most)s printable characters")
            % {"number": number, "most": NAME_CHARACTERS}
        )
    if version is not None and (isinstance(version, bool) or not isinstance(version, int)):
        raise ValueError(
            _("version %(version)s of script %(number)s is not a number: leave it out")
            % {"version": option_parsing.quoted(version), "number": number}
        )
    try:
        script_gate.check(given["text"])
    except script_gate.ScriptRefused as error:
        where = {"number": number, "name": name, "fault": error}
        text = _("script %(number)s (%(name)s), %(fault)s") if name else _("script %(number)s, %(fault)s")
        raise ValueError(text % where) from error
    weight = _weight(given.get("weight", 1), _("script %(number)s") % {"number": number})
    return {"text": given["text"], "weight": weight, "name": name, "version": version}


def _weight(value: object, of: str) -> int:
    if isinstance(value, str) and value.isdecimal() and len(value) <= 7:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_WEIGHT:
        raise ValueError(
            _("weight %(value)s of %(script)s is out of range: use 1 to %(most)s")
            % {"value": option_parsing.quoted(value), "script": of, "most": f"{MOST_WEIGHT:,}"}
        )
    return value


def weighted_scripts(options: RunOptions) -> list[WeightedScript]:
    """Return all scripts of checked options, pgbench's own first, in the order in which its report numbers them."""
    return [*_builtins(options), *_custom_scripts(options)]


def _builtins(options: RunOptions) -> Iterator[WeightedScript]:
    builtin = options.get("builtin")
    for one in builtin if isinstance(builtin, list) else [builtin] if builtin else []:
        name, _at, weight = one.partition("@")
        yield WeightedScript(name, int(weight or 1), ("-b", one))


def _custom_scripts(options: RunOptions) -> Iterator[WeightedScript]:
    for number, script in enumerate(options.get("scripts") or [], start=1):
        name = script["name"] or _("script %(number)s") % {"number": number}
        versioned = _("%(name)s version %(version)s") % {"name": name, "version": script["version"]}
        words = ("-f", f"{_file_name(number, script)}@{script['weight']}")
        label = versioned if script["version"] else name
        yield WeightedScript(label, script["weight"], words, script["text"], is_named=bool(script["name"]))


def _file_name(number: int, script: RunScript) -> str:
    """Return the name of a script's file in the private home; pgbench's report names the script by it.

    Only plain characters of the script's name are taken: an @ would begin a weight, a / would leave the folder.
    """
    name = _NOT_PLAIN.sub("-", script["name"]).strip("-")[:FILE_NAME_CHARACTERS]
    version = f"v{script['version']}" if script["version"] else ""
    return "-".join(word for word in ("script", str(number), name, version) if word) + ".sql"


def files(options: RunOptions) -> dict[str, str]:
    """Return the files of users' scripts, name → the text that pgbench is given."""
    scripts = enumerate(options.get("scripts") or [], start=1)
    return {_file_name(number, script): for_pgbench(script["text"]) for number, script in scripts}


def builtin_names(options: RunOptions) -> list[str]:
    """Return the names of pgbench's own scripts among them."""
    return [one.label for one in _builtins(options)]


def labels(options: RunOptions) -> list[str]:
    """Return the names of all scripts, in the order of `weighted_scripts`."""
    return [one.label for one in weighted_scripts(options)]


def in_words(options: RunOptions) -> str:
    """Return all scripts with their weights; a text without a name appears as its beginning and a digest."""
    return ", ".join(
        _("%(script)s (weight %(weight)s)") % {"script": _label_with_digest(one), "weight": one.weight}
        for one in weighted_scripts(options)
    )


def _label_with_digest(one: WeightedScript) -> str:
    if one.text is None or one.is_named:
        return one.label
    mark = sha256(one.text.encode()).hexdigest()[:8]
    return f"{one.label} [{' '.join(one.text.split())[:BEGINNING_CHARACTERS]}… {mark}]"


def statements(options: RunOptions) -> float:
    """Return the mean number of statements of a transaction; a user's script counts as one."""
    weighted = [(one.weight, STATEMENTS[one.label] if one.text is None else 1) for one in weighted_scripts(options)]
    return (
        sum(weight * count for weight, count in weighted) / sum(weight for weight, _ in weighted) if weighted else 1.0
    )


def contradictions(options: RunOptions) -> Iterator[tuple[str, str]]:
    """Yield a scale that pgbench would not use, and one that it would silently take as 1 (its manual, `-s`)."""
    counted, scale = builtin_names(options), options.get("scale")
    if counted and scale:
        yield (
            "scale",
            _("pgbench counts the scale itself for %(script)s, for other scripts beside it too: leave it out")
            % {"script": counted[0]},
        )
    if counted or scale:
        return
    for one in _custom_scripts(options):
        text = for_pgbench(one.text or "")
        if _READS_SCALE.search(text) and not _MAY_SET_SCALE.search(text):
            yield (
                "scale",
                _("%(label)s reads :scale, which would be 1: give the scale of the tables it works on")
                % {"label": one.label},
            )
            return


def refusals(options: RunOptions, major: int) -> list[str]:
    """Return why a pgbench of this major version must not be given the scripts; empty where it may."""
    errors = []
    for one in _custom_scripts(options):
        try:
            script_gate.check(one.text or "", major=major)
        except script_gate.ScriptRefused as error:
            errors.append(f"{one.label}, {error}")
    return errors
