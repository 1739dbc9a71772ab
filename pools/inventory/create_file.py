"""Reads the operator's commands that create and delete clusters, by size and region.

POOLDECK_CREATE_FILE names a TOML file of tables `[[create]]`. Nothing that a client sends becomes part of a command: it
reads the request as JSON from its standard input.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NotRequired, TypedDict, cast

from django.conf import settings
from django.utils.translation import gettext as _

from core.lib import toml_lines
from core.lib.toml_lines import line_of, schema_faults
from pools.errors import PoolsError

WRITABLE_BY_OTHERS = 0o022
TIMEOUT_S = 900  # the provider's clients wait half an hour
WORDS = {"type": "array", "minItems": 1, "items": {"type": "string", "minLength": 1}}
SLUG = {"type": "string", "pattern": r"^[a-z0-9][a-z0-9._-]{0,62}$"}
VERSION = {"type": "string", "pattern": r"^[1-9][0-9]?$"}
SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["create"],
    "properties": {
        "create": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["size", "region", "command"],
                "properties": {
                    "size": SLUG,
                    "region": SLUG,
                    "versions": {"type": "array", "minItems": 1, "items": VERSION},
                    "command": WORDS,
                    "delete": WORDS,
                    "pooler": {"type": "string", "minLength": 1},
                    "drop_on_return": {"type": "boolean"},
                    "timeout_s": {"type": "integer", "minimum": 1, "maximum": 86_400},
                },
            },
        }
    },
}


class CreateTable(TypedDict):
    """A table of the file, as `SCHEMA` allows it."""

    size: str
    region: str
    versions: NotRequired[list[str]]
    command: list[str]
    delete: NotRequired[list[str]]
    pooler: NotRequired[str]
    drop_on_return: NotRequired[bool]
    timeout_s: NotRequired[int]


class InvalidCreateFile(PoolsError):
    """The file can't be read, or has faults; the message names each key and its line."""

    status = 422


@dataclass(frozen=True)
class CreateEntry:
    """A table of the file: the commands for one size in one region; no `versions`: any."""

    size: str
    region: str
    command: tuple[str, ...]
    delete: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    pooler: str = ""
    drop_on_return: bool = False
    timeout_s: int = TIMEOUT_S

    def offers(self, size: str, region: str, version: str) -> bool:
        """Tell whether it is for them; empty texts: any."""
        terms = ((size, self.size), (region, self.region))
        is_here = all(not term or term.lower() == own for term, own in terms)
        return is_here and (not version or not self.versions or version in self.versions)

    def version_for(self, version: str) -> str:
        """Return the version to create: the wanted one, else the newest that is listed, else any (empty)."""
        return version or max(self.versions, key=int, default="")


def entries() -> list[CreateEntry]:
    """Return the file's tables in order; none where no file is named. Raises `InvalidCreateFile`."""
    if not settings.CREATE_FILE:
        return []
    path = Path(settings.CREATE_FILE)
    try:
        if path.stat().st_mode & WRITABLE_BY_OTHERS:
            text = _("%(path)s can be written by others than its owner, so nothing in it is run: chmod go-w it")
            raise InvalidCreateFile(text % {"path": path})
        return parse(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeError) as error:
        text = _("%(path)s, which POOLDECK_CREATE_FILE names, can't be read: %(error)s")
        raise InvalidCreateFile(text % {"path": path, "error": error}) from None


def offering(size: str, region: str, version: str) -> CreateEntry | None:
    """Return the first table that offers them; None where there is none. Raises `InvalidCreateFile`."""
    return next((entry for entry in entries() if entry.offers(size, region, version)), None)


def parse(text: str) -> list[CreateEntry]:
    """Read the file's text; raises `InvalidCreateFile` with each fault, its key and its line."""
    try:
        raw = toml_lines.read(text)
    except toml_lines.NotToml as error:
        raise InvalidCreateFile(_("POOLDECK_CREATE_FILE is not TOML: %(error)s") % {"error": error}) from None
    if faults := list(_faults(text, raw)):
        raise _invalid(faults)
    listed = [_read(table) for table in cast("list[CreateTable]", raw["create"])]
    if faults := list(_contradictions(text, listed)):
        raise _invalid(faults)
    return listed


def _invalid(faults: list[str]) -> InvalidCreateFile:
    return InvalidCreateFile(_("POOLDECK_CREATE_FILE: %(faults)s") % {"faults": "; ".join(faults)})


def _read(table: CreateTable) -> CreateEntry:
    return CreateEntry(
        size=table["size"],
        region=table["region"],
        command=tuple(table["command"]),
        delete=tuple(table.get("delete", ())),
        versions=tuple(table.get("versions", ())),
        pooler=table.get("pooler", ""),
        drop_on_return=table.get("drop_on_return", False),
        timeout_s=table.get("timeout_s", TIMEOUT_S),
    )


def _faults(text: str, raw: Mapping[str, object]) -> Iterator[str]:
    for error in schema_faults(raw, SCHEMA):
        yield _named(text, list(error.absolute_path), error.message)


def _contradictions(text: str, listed: list[CreateEntry]) -> Iterator[str]:
    for number, entry in enumerate(listed):
        for key, command in (("command", entry.command), ("delete", entry.delete)):
            program = command[0] if command else ""
            if "/" in program and not program.startswith("/"):
                fault = _("%(program)s is a relative path: write it from / on") % {"program": program}
                yield _named(text, ["create", number, key], fault)
        if any(_overlap(entry, earlier) for earlier in listed[:number]):
            fault = _("size %(size)s in region %(region)s is offered by an earlier table: leave one of them out")
            yield _named(text, ["create", number, "size"], fault % {"size": entry.size, "region": entry.region})


def _overlap(one: CreateEntry, other: CreateEntry) -> bool:
    is_same = (one.size, one.region) == (other.size, other.region)
    return is_same and (not one.versions or not other.versions or bool({*one.versions} & {*other.versions}))


def _named(text: str, path: list[str | int], message: str) -> str:
    key = ".".join(map(str, path)) or "create"
    return _("line %(line)s, %(key)s: %(message)s") % {"line": line_of(text, path), "key": key, "message": message}
