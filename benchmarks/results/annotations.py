"""Annotations of a run: its note, its tags, and the baseline of its target."""

from collections.abc import Iterable

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from benchmarks.errors import IllegalTransition, InvalidFields
from benchmarks.models import Run, Validity
from benchmarks.models.runs import RunQuerySet
from core.accounts.access import Access

NOTE_CHARACTERS = 10_000
TAG_CHARACTERS, MOST_TAGS = 40, 20


class InvalidNote(InvalidFields):
    """A note or tag that can't be saved; `errors` holds the reasons by field."""


def split(text: str) -> list[str]:
    """Split a comma-separated line into tags."""
    return [word.strip() for word in text.split(",") if word.strip()]


def check_tags(tags: Iterable[str]) -> list[str]:
    """Return the tags stripped and without duplicates; raise `InvalidNote` if they can't be saved."""
    unique = list(dict.fromkeys(tag.strip() for tag in tags if tag.strip()))
    _check(None, unique)
    return unique


def annotate(run: Run, *, note: str | None = None, tags: Iterable[str] | None = None, name: str | None = None) -> None:
    """Save the given values and keep the others; raise `InvalidNote` without saving anything."""
    unique = None if tags is None else list(dict.fromkeys(tag.strip() for tag in tags if tag.strip()))
    _check(note, unique)
    with transaction.atomic():
        if note is not None:
            run.note = note
        if name is not None:
            run.name = name
        run.save(update_fields=["note", "name"])
        if unique is not None:
            run.set_tags(unique)


def pin(run: Run) -> None:
    """Make the run the baseline of its target, in place of another; raise `IllegalTransition` if it is not valid."""
    if run.validity != Validity.VALID:
        raise IllegalTransition(_("%(run)s is not valid: only a valid run can be a baseline") % {"run": run})
    with transaction.atomic():
        _same_target(run).filter(is_baseline=True).update(is_baseline=False)
        run.is_baseline = True
        run.save(update_fields=["is_baseline"])


def unpin(run: Run) -> None:
    """Remove the run as the baseline of its target."""
    run.is_baseline = False
    run.save(update_fields=["is_baseline"])


def baseline_of(run: Run, access: Access) -> Run | None:
    """Return the baseline of the run's target; None if the caller sees none, or if it is this run."""
    return access.visible(_same_target(run)).filter(is_baseline=True).exclude(pk=run.pk).first()


def _same_target(run: Run) -> RunQuerySet:
    """Return the runs on the same target; if that was removed, those with the same target label."""
    there = {"cluster": run.cluster_id, "pool": run.pool_id, "pooled": run.pooled, "database": run.database}
    there |= {"external": run.external_id, "is_external": run.is_external}
    called = {"target_label": run.target_label} if run.removed else {}
    return Run.objects.filter(**there, **called, engine=run.engine)


def _check(note: str | None, tags: list[str] | None) -> None:
    errors: dict[str, list[str]] = {}
    if note is not None and len(note) > NOTE_CHARACTERS:
        text = ngettext(
            "%(count)s character is too many: use at most %(most)s",
            "%(count)s characters are too many: use at most %(most)s",
            len(note),
        )
        errors["note"] = [text % {"count": f"{len(note):,}", "most": f"{NOTE_CHARACTERS:,}"}]
    if tags is not None and len(tags) > MOST_TAGS:
        text = ngettext(
            "%(count)s tag is too many: use at most %(most)s",
            "%(count)s tags are too many: use at most %(most)s",
            len(tags),
        )
        errors["tags"] = [text % {"count": len(tags), "most": MOST_TAGS}]
    elif long := [tag for tag in tags or [] if len(tag) > TAG_CHARACTERS]:
        text = _("%(tag)r is too long: a tag has at most %(most)s characters")
        errors["tags"] = [text % {"tag": long[0][:60], "most": TAG_CHARACTERS}]
    if errors:
        raise InvalidNote(errors)
