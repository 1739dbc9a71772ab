"""The reasons of acts that a worker carries out later: its entries repeat what the one who asked gave as a reason."""

from dataclasses import dataclass

from core.audit.models import ActorKind, Entry

CARRY_OUT = (ActorKind.WORKER, ActorKind.SCHEDULE)  # for others, who asked for it


@dataclass(frozen=True)
class Causes:
    """The acts on an object whose reasons an entry of a worker repeats.

    That of the last one, whoever asked; with `is_repeated`, of one only that came after the worker's entry before, as
    it carries out acts of other kinds again and again.
    """

    actions: tuple[str, ...]
    is_repeated: bool = False


_known: dict[str, Causes] = {}


def follows(action: str, *causes: str, is_repeated: bool = False) -> None:
    """Let a worker's entries of an action repeat the reason of these acts on the same object."""
    _known[action] = Causes(causes, is_repeated)


def reason_of(action: str, object_kind: str, object_id: str, using: str) -> str:
    """Return the reason of what a worker carries out; empty where none was given, or none is known."""
    causes = _known.get(action)
    if causes is None or not object_id:
        return ""
    about = Entry.objects.using(using).filter(object_kind=object_kind, object_id=object_id)
    asked = about.filter(action__in=causes.actions).exclude(actor_kind__in=CARRY_OUT)
    if causes.is_repeated:
        before = about.filter(action=action, actor_kind__in=CARRY_OUT).values_list("number", flat=True).first()
        asked = asked.filter(number__gt=before or 0)
    return asked.values_list("reason", flat=True).first() or ""
