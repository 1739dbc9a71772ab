"""What people say of a run: a note, tags, and which one the others of its target are measured by."""

from collections.abc import Iterable

from django.db import transaction

from benchmarks.errors import IllegalTransition, InvalidFields
from benchmarks.models import Run, Validity
from benchmarks.models.runs import RunQuerySet

NOTE_CHARACTERS = 10_000
TAG_CHARACTERS, MOST_TAGS = 40, 20


class InvalidNote(InvalidFields):
    """What was said can't be kept."""


def split(text: str) -> list[str]:
    """The tags of a line of words with commas between them."""
    return [word.strip() for word in text.split(",") if word.strip()]


def check_tags(tags: Iterable[str]) -> list[str]:
    """The tags without blanks and each once; raises `InvalidNote` where they can't be kept."""
    wanted = list(dict.fromkeys(tag.strip() for tag in tags if tag.strip()))
    _check(None, wanted)
    return wanted


def annotate(run: Run, *, note: str | None = None, tags: Iterable[str] | None = None, name: str | None = None) -> None:
    """Write what is given and leave the rest; raises `InvalidNote` with nothing written."""
    wanted = None if tags is None else list(dict.fromkeys(tag.strip() for tag in tags if tag.strip()))
    _check(note, wanted)
    with transaction.atomic():
        if note is not None:
            run.note = note
        if name is not None:
            run.name = name
        run.save(update_fields=["note", "name"])
        if wanted is not None:
            run.set_tags(wanted)


def pin(run: Run) -> None:
    """Let the other runs on its target be measured by this one, and no longer by another."""
    if run.validity != Validity.VALID:
        raise IllegalTransition(f"{run} is not valid: its figures are nothing to measure others by")
    with transaction.atomic():
        _same_target(run).filter(is_baseline=True).update(is_baseline=False)
        run.is_baseline = True
        run.save(update_fields=["is_baseline"])


def unpin(run: Run) -> None:
    """Measure nothing by it any more."""
    run.is_baseline = False
    run.save(update_fields=["is_baseline"])


def baseline_of(run: Run) -> Run | None:
    """The run that this one is measured by; None where none is pinned, and for the pinned one itself."""
    return _same_target(run).filter(is_baseline=True).exclude(pk=run.pk).first()


def _same_target(run: Run) -> RunQuerySet:
    """The runs on what it was aimed at; once that is removed, on what was called so: nothing else tells it apart."""
    there = {"cluster": run.cluster_id, "pool": run.pool_id, "pooled": run.pooled, "database": run.database}
    there |= {"external": run.external_id, "is_external": run.is_external}
    called = {"target_label": run.target_label} if run.removed else {}
    return Run.objects.filter(**there, **called, engine=run.engine)


def _check(note: str | None, tags: list[str] | None) -> None:
    errors: dict[str, list[str]] = {}
    if note is not None and len(note) > NOTE_CHARACTERS:
        errors["note"] = [f"{len(note):,} characters are too many: use at most {NOTE_CHARACTERS:,}"]
    if tags is not None and len(tags) > MOST_TAGS:
        errors["tags"] = [f"{len(tags)} tags are too many: use at most {MOST_TAGS}"]
    elif long := [tag for tag in tags or [] if len(tag) > TAG_CHARACTERS]:
        errors["tags"] = [f"{long[0][:60]!r} is too long: a tag has at most {TAG_CHARACTERS} characters"]
    if errors:
        raise InvalidNote(errors)
