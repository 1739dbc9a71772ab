"""Recording of acts: an entry is kept with the transaction that it belongs to, and written just before the commit.

Written at once, it would hold the chain for as long as its transaction lasts: all others that record something would
wait for it, and two that lock the same rows in another order would wait for each other.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID

from django.core.serializers.json import DjangoJSONEncoder
from django.db import DEFAULT_DB_ALIAS, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils import timezone
from django.utils.encoding import force_str

from core.audit import actors, causes, redaction
from core.audit.connections import RecordingConnection
from core.audit.models import Entry

ASKED, DONE = "asked for", "done"
NAME_CHARACTERS, TEXT_CHARACTERS = 300, 500


@dataclass(frozen=True)
class Subject:
    """What an act is about; the id and the name as text."""

    kind: str
    id: str = ""
    name: str = ""
    cluster_id: UUID | None = None
    team_id: UUID | None = None


def record(
    action: str,
    subject: Subject,
    *,
    before: Mapping[str, object] | None = None,
    after: Mapping[str, object] | None = None,
    outcome: str = "",
    asked_by: str = "",
    using: str = DEFAULT_DB_ALIAS,
) -> None:
    """Record an act in the running transaction, or in one of its own; who acts is `actors.current`'s answer."""
    origin = actors.current()
    actor, reason = origin.who(), origin.reason
    if not reason and actor.kind in causes.CARRY_OUT:
        reason = causes.reason_of(action, subject.kind, subject.id, using)
    entry = Entry(
        number=0,
        at=timezone.now(),
        actor_kind=actor.kind,
        actor_id=actor.id,
        actor_name=_cut(actor.name, NAME_CHARACTERS),
        asked_by=_other(asked_by or origin.asked_by, actor.name),
        source=_cut(origin.source, 255),
        action=action,
        object_kind=subject.kind,
        object_id=subject.id,
        object_name=_cut(subject.name, NAME_CHARACTERS),
        cluster_id=subject.cluster_id,
        team_id=subject.team_id,
        change=change_of(before, after),
        reason=_cut(redaction.without_secrets(reason), TEXT_CHARACTERS),
        outcome=_cut(redaction.without_secrets(outcome), TEXT_CHARACTERS),
    )
    connection = cast("RecordingConnection", transaction.get_connection(using))
    with in_transaction(connection):
        connection.keep(entry)
    origin.recorded += 1


@contextmanager
def attempt(action: str, subject: Subject, **after: object) -> Iterator[None]:
    """Record an act that no transaction can undo before it begins, and once more with its outcome.

    A process that is killed in between leaves the first row, which says that the act was asked for.
    """
    record(action, subject, after=after, outcome=ASKED)
    try:
        yield
    except BaseException as error:
        record(action, subject, after=after, outcome=f"failed: {force_str(error) or type(error).__name__}")
        raise
    record(action, subject, after=after, outcome=DONE)


def in_transaction(connection: BaseDatabaseWrapper) -> AbstractContextManager[Any]:
    """Return a context that is within a transaction, which it begins only where none is running."""
    return nullcontext() if connection.in_atomic_block else transaction.atomic(using=connection.alias)


def change_of(before: Mapping[str, object] | None, after: Mapping[str, object] | None) -> str:
    """Return the change as JSON, without secrets."""
    sides = {"before": before, "after": after}
    safe = {side: redaction.safe(values) for side, values in sides.items() if values}
    return json.dumps(safe, cls=DjangoJSONEncoder, ensure_ascii=True, sort_keys=True)


def _other(asked_by: str, actor: str) -> str:
    """Return who asked for it, empty where that is who acts."""
    return "" if asked_by == actor else asked_by[:150]


def _cut(text: str, characters: int) -> str:
    text = text.replace("\0", "")
    return text if len(text) <= characters else f"{text[: characters - 1]}…"
