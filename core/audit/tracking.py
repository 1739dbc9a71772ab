"""Which models the trail follows: each insert, update and delete of their rows is recorded, however it is made."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypedDict, Unpack

from django.db.models import Field, Model

CHANGED = "changed"  # stands for a secret's value


class OptionsOfOwner(TypedDict, total=False):
    """What a model may declare of whom its rows belong to; see `TrackedModel`."""

    cluster: str
    team: tuple[str, ...]


class Options(OptionsOfOwner, total=False):
    """What a model may declare; see `TrackedModel`."""

    path: str
    name: str
    author: str
    outcome: tuple[str, ...]
    actions: Mapping[str, str]
    named_by: tuple[str, ...]


@dataclass(frozen=True)
class TrackedModel:
    """How rows of one model are recorded.

    `path` leads from a row to the object that the entry is about: empty for the row itself. `cluster`, `team` and
    `author` lead to those, by lookups; empty where there is none. Of several for the team, the first
    that leads to one counts. `named_by` are the columns that tell the parts of one object apart, such as the members of
    a team: each entry of a part has them, changed or not.
    """

    model: type[Model]
    kind: str
    fields: tuple[str, ...]
    secrets: frozenset[str] = frozenset()
    path: str = ""
    name: str = "name"
    cluster: str = ""
    team: tuple[str, ...] = ()
    author: str = ""
    outcome: tuple[str, ...] = ()
    actions: Mapping[str, str] = field(default_factory=dict)
    named_by: tuple[str, ...] = ()

    def action(self, verb: str, changed: Iterable[str] = ()) -> str:
        """Return the action of `create`, `change` or `delete`; empty where it is not recorded.

        `actions` may name one of its own for each: by verb, or by a column that changed.
        """
        named = [self.actions[name] for name in (*changed, verb) if name in self.actions]
        return named[0] if named else f"{self.kind}.{verb}"

    def touches(self, written: Iterable[str]) -> bool:
        """Tell whether an update of these columns is an act."""
        return any(name in self.fields for name in written)

    @property
    def lookups(self) -> list[str]:
        """What is read of a row besides its fields, in order: the object's id and name, and so on."""
        before = f"{self.path}__" if self.path else ""
        return [f"{before}pk", f"{before}{self.name}", *filter(None, (self.cluster, *self.team, self.author))]


TRACKED: dict[type[Model], TrackedModel] = {}
ANNOUNCED = {"secret.reveal", "person.sign_in", "person.sign_out"}  # acts that are no writes to these


def track(
    model: type[Model],
    kind: str,
    *,
    only: Iterable[str] = (),
    also: Iterable[str] = (),
    never: Iterable[str] = (),
    secrets: Iterable[str] = (),
    **options: Unpack[Options],
) -> None:
    """Follow a model: its editable columns and `also`, without `never`; or `only` those. Secrets are shown as changed.

    Columns that are not editable hold what the panel found out by itself, which is no act.
    """
    hidden = frozenset(secrets)
    names = tuple(only) or tuple(one.attname for one in model._meta.concrete_fields if _is_set_by_people(one, never))
    fields = (*names, *also, *sorted(hidden.difference(names, also)))
    TRACKED[model] = TrackedModel(model, kind, tuple(dict.fromkeys(fields)), hidden, **options)


def known_actions() -> list[str]:
    """Return the acts on tracked models, and the others that are known."""
    found = {one.action(verb) for one in TRACKED.values() for verb in ("create", "change", "delete")}
    named = {action for one in TRACKED.values() for action in one.actions.values()}
    return sorted((found | named | ANNOUNCED) - {""})


def _is_set_by_people(one: "Field[object, object]", never: Iterable[str]) -> bool:
    return one.editable and not one.primary_key and one.name not in never and one.attname not in never
