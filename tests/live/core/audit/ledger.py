"""Compares the trail with the data both ways: what it tells, carried out again, has to give what stands there."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

from core.accounts.models import FIRST_TEAM, Team
from core.audit.models import ActorKind
from core.audit.tracking import TRACKED, TrackedModel
from tests.live.core.audit.acts import Act

Entry = dict[str, Any]
Row = dict[str, Any]
Key = tuple[str, ...]
EMPTY: tuple[object, ...] = (None, "", [], {})


def acts_off(acts: Iterable[Act], entries: Iterable[Entry]) -> list[str]:
    """Name the acts whose entries are others than theirs, and the entries of no act.

    Workers repeat the reason of what they carry out, as often as they try; they may not be the only ones to have it.
    """
    left: dict[str, list[tuple[str, str]]] = defaultdict(list)
    repeated: dict[str, list[str]] = defaultdict(list)
    for one in entries:
        if one["reason"] and one["actor_kind"] == ActorKind.WORKER:
            repeated[one["reason"]].append(one["action"])
        elif one["reason"]:
            left[one["reason"]].append((one["action"], one["outcome"].partition(":")[0]))
    off = [f"only a worker gives {reason}, for {found}" for reason, found in repeated.items() if reason not in left]
    for act in acts:
        found = left.pop(act.reason, [])
        if found not in act.possible:
            off.append(f"{act} left {found}")
    return off + [f"{reason} is no act, and left {found}" for reason, found in left.items()]


def verbs_of() -> dict[str, list[tuple[TrackedModel, str]]]:
    """Action → the models whose rows it writes, and how."""
    found: dict[str, list[tuple[TrackedModel, str]]] = defaultdict(list)
    for tracked in TRACKED.values():
        for verb in ("create", "change", "delete"):
            found[tracked.action(verb)].append((tracked, verb))
        for column, action in tracked.actions.items():
            if column not in ("create", "change", "delete"):
                found[action].append((tracked, "change"))
    return found


class Books:
    """The rows as the trail tells them; the first team was made by a migration, before there was a trail."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[Key, Row]] = defaultdict(dict)
        self.rows[Team._meta.label][(str(FIRST_TEAM),)] = {"name": "Default"}
        self.off: list[str] = []
        self.told = Counter[str]()
        self.verbs = verbs_of()

    def carry_out(self, entries: Iterable[Entry]) -> None:
        """Follow the trail from its beginning."""
        for entry in entries:
            for tracked, verb in self.verbs.get(entry["action"], []):
                if self._is_about(tracked, verb, entry):
                    self.told[entry["action"]] += 1
                    self._carry_out(tracked, verb, entry)
                    break

    @staticmethod
    def _is_about(tracked: TrackedModel, verb: str, entry: Entry) -> bool:
        """Tell whether a row of this model was written; what a request asks for has the same name, and its address."""
        names = {name.removeprefix("sealed_") for name in tracked.fields}
        told = entry["before"] if verb == "delete" else entry["after"]
        return entry["object_kind"] == tracked.kind and bool(told) and set(told) <= names

    def _carry_out(self, tracked: TrackedModel, verb: str, entry: Entry) -> None:
        rows, before, after = self.rows[tracked.model._meta.label], filled(entry["before"]), filled(entry["after"])
        key = key_of(tracked, entry["object_id"], before or after)
        here = f"entry {entry['number']} {entry['action']} of {entry['object_name']}"
        if verb == "create":
            if key in rows:
                self.off.append(f"{here}: it is there already")
            rows[key] = after
            return
        if tracked.action("create") and key not in rows:
            self.off.append(f"{here}: it was never made")
        row = rows.setdefault(key, dict(before))
        wrong = {name: (row.get(name), old) for name, old in entry["before"].items() if row.get(name) != or_none(old)}
        if wrong:
            self.off.append(f"{here}: it was otherwise before: {wrong}")
        if verb == "delete":
            del rows[key]
        else:
            rows[key] = filled({**row, **entry["after"]})

    def compare(self, stands: dict[str, list[Row]]) -> list[str]:
        """Name each row that differs from what the trail tells; where it tells no making, by what it does tell."""
        off = list(self.off)
        for tracked in TRACKED.values():
            label = tracked.model._meta.label
            told = dict(self.rows[label])
            for row in stands[label]:
                key = key_of(tracked, row["object"], row["values"])
                if tracked.action("create"):
                    if told.pop(key, None) != row["values"]:
                        off.append(f"{label} {key} is {row['values']}, and told otherwise: {self.rows[label].get(key)}")
                elif key in told:
                    said = told.pop(key)
                    off += [f"{label} {key} differs: {said}" for name in said if said[name] != row["values"].get(name)]
            if tracked.action("delete"):
                off += [f"{label} {key} is told of, and not there" for key in told]
        return off


def key_of(tracked: TrackedModel, about: str, values: Row) -> Key:
    """Return what tells rows of this model apart: the object, and the columns that name a part of it."""
    return (about, *(str(values.get(name)) for name in tracked.named_by))


def filled(values: Row) -> Row:
    """Return the values without those that are empty."""
    return {name: value for name, value in values.items() if value not in EMPTY}


def or_none(value: object) -> object:
    """Return None for an empty value."""
    return None if value in EMPTY else value
