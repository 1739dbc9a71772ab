"""The scripts of a run, pgbench's own and those of users, each with its weight: read, gated, put into words; pure.

A user's script is never a path: its text is written to a file that the panel names, in the run's private home.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from benchmarks.engines import option_parsing
from benchmarks.engines.base import Field
from benchmarks.engines.pgbench import script_gate

WRITING_BUILTINS = frozenset({"tpcb-like", "simple-update"})
CONTENDING_BUILTIN = "tpcb-like"
STATEMENTS = {"select-only": 1, "simple-update": 5, "tpcb-like": 7}
MOST_WEIGHT = 1_000_000
NAME_CHARACTERS = 100
KEYS = ("text", "weight", "name", "version")
FILE_NAME_CHARACTERS = BEGINNING_CHARACTERS = 40
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9_]+")
_READS_SCALE = re.compile(r"(?<!:):scale(?![A-Za-z0-9_])")
_MAY_SET_SCALE = re.compile(r"\\set[ \t]+scale[ \t]|\\[ga]set")
_WEIGHED = re.compile(r"(?P<name>[a-z-]+)(?:@(?P<weight>[0-9]{1,7}))?")


@dataclass(frozen=True, slots=True)
class Weighed:
    """One script of a run in pgbench's order; `text` is None for one of pgbench's own, `words` what starts it."""

    label: str
    weight: int
    words: tuple[str, str]
    text: str | None = None


def read_builtins(field: Field, value: Any) -> str | list[str]:
    """`NAME` or `NAME@WEIGHT`, or a list of them; one alone stays as it is. Raises ValueError."""
    given = value if isinstance(value, list) else [value]
    if not given:
        raise ValueError(f"an empty list names no script: use some of {', '.join(field.choices)}, or leave it out")
    for one in given:
        found = _WEIGHED.fullmatch(one) if isinstance(one, str) else None
        if found is None or found["name"] not in field.choices:
            raise ValueError(
                f"{option_parsing.shown(one)} is no script here: use {', '.join(field.choices)}, or one with @WEIGHT"
            )
        _weight(int(found["weight"] or 1), one)
    return given[0] if len(given) == 1 else list(given)


def read_scripts(_field: Field, value: Any) -> list[dict[str, Any]]:
    """Scripts as `{text, weight, name, version}`, gated; raises ValueError naming the script and its line."""
    if not isinstance(value, list):
        raise ValueError('give a list of {"text": …, "weight": …}, or of {"script": …} from the library')
    scripts = [_script(number, one) for number, one in enumerate(value, start=1)]
    try:
        script_gate.check_total([script["text"] for script in scripts])
    except script_gate.ScriptRefused as error:
        raise ValueError(str(error)) from error
    return scripts


def _script(number: int, given: Any) -> dict[str, Any]:
    if not isinstance(given, dict) or not isinstance(given.get("text"), str):
        raise ValueError(f'script {number} is none: give {{"text": …, "weight": …}}')
    if unknown := sorted(set(given) - set(KEYS)):
        raise ValueError(f"script {number} has {', '.join(map(str, unknown))}: use {', '.join(KEYS)}")
    name, version = given.get("name", ""), given.get("version")
    if not isinstance(name, str) or len(name) > NAME_CHARACTERS or not name.isprintable():
        raise ValueError(f"script {number} is called by more than a name: use at most {NAME_CHARACTERS} characters")
    if version is not None and (isinstance(version, bool) or not isinstance(version, int)):
        raise ValueError(f"version {option_parsing.shown(version)} of script {number} is no number: leave it out")
    try:
        script_gate.check(given["text"])
    except script_gate.ScriptRefused as error:
        raise ValueError(f"script {number}{f' ({name})' if name else ''}, {error}") from error
    weight = _weight(given.get("weight", 1), f"script {number}")
    return {"text": given["text"], "weight": weight, "name": name, "version": version}


def _weight(value: Any, of: str) -> int:
    if isinstance(value, str) and value.isdecimal() and len(value) <= 7:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_WEIGHT:
        raise ValueError(f"weight {option_parsing.shown(value)} of {of} is out of range: use 1 to {MOST_WEIGHT:,}")
    return value


def weighed(options: dict[str, Any]) -> list[Weighed]:
    """All scripts of checked options, pgbench's own first, in the order that its report numbers them by."""
    return [*_builtins(options), *_of_users(options)]


def _builtins(options: dict[str, Any]) -> Iterator[Weighed]:
    given = options.get("builtin")
    for one in given if isinstance(given, list) else [given] if given else []:
        name, _, weight = one.partition("@")
        yield Weighed(name, int(weight or 1), ("-b", one))


def _of_users(options: dict[str, Any]) -> Iterator[Weighed]:
    for number, script in enumerate(options.get("scripts") or [], start=1):
        name = script["name"] or f"script {number}"
        label = f"{name} version {script['version']}" if script["version"] else name
        words = ("-f", f"{_file_name(number, script)}@{script['weight']}")
        yield Weighed(label, script["weight"], words, script["text"])


def _file_name(number: int, script: dict[str, Any]) -> str:
    """In the private home, where pgbench is started; its report calls the script by it.

    Of the script's own name only what is plain is taken: an @ would begin a weight, a / lead out of the folder.
    """
    name = _NOT_PLAIN.sub("-", script["name"]).strip("-")[:FILE_NAME_CHARACTERS]
    version = f"v{script['version']}" if script["version"] else ""
    return "-".join(word for word in ("script", str(number), name, version) if word) + ".sql"


def files(options: dict[str, Any]) -> dict[str, str]:
    """The files of users' scripts, by name."""
    given = enumerate(options.get("scripts") or [], start=1)
    return {_file_name(number, script): script["text"] for number, script in given}


def builtin_names(options: dict[str, Any]) -> list[str]:
    """pgbench's own among the scripts."""
    return [one.label for one in _builtins(options)]


def in_words(options: dict[str, Any]) -> str:
    """All of them with their weights; of a text without a name its beginning, and a mark that only it has."""
    return ", ".join(f"{_described(one)} (weight {one.weight})" for one in weighed(options))


def _described(one: Weighed) -> str:
    if one.text is None or not one.label.startswith("script "):
        return one.label
    mark = sha256(one.text.encode()).hexdigest()[:8]
    return f"{one.label} [{' '.join(one.text.split())[:BEGINNING_CHARACTERS]}… {mark}]"


def statements(options: dict[str, Any]) -> float:
    """How many a transaction sends on average; a script of a user counts for one, whatever its branches do."""
    given = [(one.weight, STATEMENTS[one.label] if one.text is None else 1) for one in weighed(options)]
    return sum(weight * count for weight, count in given) / sum(weight for weight, _ in given) if given else 1.0


def contradictions(options: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """A scale that pgbench would not use, and one that it would take for 1 unasked (its manual, `-s`)."""
    counted, scale = builtin_names(options), options.get("scale")
    if counted and scale:
        yield (
            "scale",
            f"pgbench counts the scale itself for {counted[0]}, for other scripts beside it too: leave it out",
        )
    if counted or scale:
        return
    for one in _of_users(options):
        text = one.text or ""
        if _READS_SCALE.search(text) and not _MAY_SET_SCALE.search(text):
            yield "scale", f"{one.label} reads :scale, which would be 1: give the scale of the tables it works on"
            return


def refused_by(options: dict[str, Any], major: int) -> list[str]:
    """Why a pgbench of this major version must not be given the scripts; empty where it may."""
    errors = []
    for one in _of_users(options):
        try:
            script_gate.check(one.text or "", major=major)
        except script_gate.ScriptRefused as error:
            errors.append(f"{one.label}, {error}")
    return errors
