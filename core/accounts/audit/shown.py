"""Entries as pages show them: what changed, as pairs of values or as lines of a text, and a link to the object."""

import difflib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.urls import NoReverseMatch, reverse

from core.audit.models import Entry
from core.audit.tracking import CHANGED

MOST_LINES = 60
EMPTY: tuple[object, ...] = (None, "", [], {})
BAD = ("failed", "rolled_back", "lost", "refused")  # how the outcomes begin of what was not done


@dataclass(frozen=True)
class ShownField:
    """A field of an object before and after; of texts with several lines, `lines` has those of `diff -u`."""

    name: str
    before: str
    after: str
    lines: tuple[str, ...] = ()
    hidden: int = 0  # lines beyond the limit
    is_kept: bool = False  # it names what was changed, and stayed


@dataclass(frozen=True)
class ShownEntry:
    """An entry and what a row shows beside its columns."""

    entry: Entry
    fields: list[ShownField]
    url: str

    @property
    def is_failed(self) -> bool:
        """True where the act did not do what was asked for."""
        return self.entry.outcome.startswith(BAD)


def shown(entries: Iterable[Entry]) -> list[ShownEntry]:
    """Return the entries as rows."""
    return [ShownEntry(entry, fields_of(entry), _url(entry)) for entry in entries]


def fields_of(entry: Entry) -> list[ShownField]:
    """Return the fields that the act changed, gave or removed, by name; first those that say of which part."""
    change = entry.fields
    sides = change.get("before", {}), change.get("after", {})
    kept = {name: value for name, value in sides[0].items() if sides[1].get(name) == value != CHANGED}
    before, after = (_flat({name: value for name, value in side.items() if name not in kept}) for side in sides)
    is_change = bool(before and after)
    names = sorted(before.keys() | after.keys())
    # A secret stands as the word `changed` on both sides.
    same = [one for one in names if is_change and before.get(one) == after.get(one) and before.get(one) != CHANGED]
    of_part = [ShownField(name, "", _text(value), is_kept=True) for name, value in sorted(kept.items())]
    return of_part + [_field(name, before.get(name), after.get(name)) for name in names if name not in same]


def _flat(values: Mapping[str, object]) -> dict[str, object]:
    """Return the values with those of mappings, such as a pool's settings, by dotted names."""
    found: dict[str, object] = {}
    for name, value in values.items():
        if isinstance(value, Mapping) and value:
            found |= {f"{name}.{inner}": one for inner, one in value.items()}
        else:
            found[name] = value
    return found


def _field(name: str, before: object, after: object) -> ShownField:
    texts = (_text(before), _text(after))
    if not any("\n" in text.strip("\n") for text in texts):
        return ShownField(name, *texts)
    compared = list(difflib.unified_diff(texts[0].splitlines(), texts[1].splitlines(), n=2, lineterm=""))[2:]
    return ShownField(name, *texts, tuple(compared[:MOST_LINES]), max(0, len(compared) - MOST_LINES))


def _text(value: object) -> str:
    if value in EMPTY:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _url(entry: Entry) -> str:
    """Return the address of the object's page; empty where it has none, or is gone by this act."""
    if not entry.object_id or entry.action.endswith(".delete"):
        return ""
    key = entry.object_name if entry.object_kind == "playbook" else entry.object_id
    try:
        return reverse(f"{entry.object_kind.replace('_', '-')}-detail", args=[key])
    except NoReverseMatch:
        return ""
