"""Which entries of the trail a caller may see, the filters of the page, the API and the export, and pages by number."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from operator import or_

import django_filters
from django.db.models import Q, QuerySet
from django.utils.translation import gettext_lazy as _

from core.accounts.access import Access
from core.accounts.audit.shown import BAD
from core.audit.models import ActorKind, Entry
from core.audit.recording import ASKED
from core.audit.tracking import known_actions

PAGE_SIZE = 50
PORTION = 1000
FAILED = reduce(or_, (Q(outcome__startswith=word) for word in BAD))
OUTCOMES = {"done": ~FAILED & ~Q(outcome=ASKED), "asked": Q(outcome=ASKED), "failed": FAILED}
OUTCOME_LABELS = [("done", _("done")), ("asked", _("asked for")), ("failed", _("failed"))]


def visible(access: Access) -> QuerySet[Entry]:
    """Return the entries that the caller may see: all of them as an administrator, else of the teams they own."""
    return Entry.objects.all() if access.is_admin else Entry.objects.filter(Entry.visible_to(access))


class EntryFilter(django_filters.FilterSet):  # type: ignore[misc]  # django-filter carries no types
    """The filters; each narrows what the others leave."""

    person = django_filters.CharFilter(
        method="by_person", label=_("Person"), help_text=_("A name: what they did, their tokens, or workers for them")
    )
    action = django_filters.CharFilter(
        method="by_action", label=_("Act"), help_text=_("An act, such as pool.change, or all of an object: pool")
    )
    object = django_filters.CharFilter(
        method="by_object", label=_("Object"), help_text=_("A part of the object’s name, or its id")
    )
    since = django_filters.IsoDateTimeFilter(
        field_name="at", lookup_expr="gte", label=_("From"), help_text=_("Entries from this time on")
    )
    until = django_filters.IsoDateTimeFilter(
        field_name="at", lookup_expr="lte", label=_("Until"), help_text=_("Entries up to this time")
    )
    outcome = django_filters.ChoiceFilter(
        choices=OUTCOME_LABELS, method="by_outcome", label=_("Outcome"), help_text=_("How the act ended")
    )

    class Meta:
        model = Entry
        fields: list[str] = []

    def by_person(self, rows: QuerySet[Entry], _name: str, person: str) -> QuerySet[Entry]:
        """Leave what the person did, with a token too, and what a worker did for them."""
        tokens = Q(actor_kind=ActorKind.TOKEN, actor_name__startswith=f"{person}: ")
        return rows.filter(Q(actor_name=person) | Q(asked_by=person) | tokens)

    def by_action(self, rows: QuerySet[Entry], _name: str, action: str) -> QuerySet[Entry]:
        """Leave one act, or all acts of an object."""
        return rows.filter(action=action) if "." in action else rows.filter(action__startswith=f"{action}.")

    def by_object(self, rows: QuerySet[Entry], _name: str, text: str) -> QuerySet[Entry]:
        """Leave the entries of an object."""
        return rows.filter(Q(object_id=text) | Q(object_name__icontains=text))

    def by_outcome(self, rows: QuerySet[Entry], _name: str, outcome: str) -> QuerySet[Entry]:
        """Leave the entries with this outcome."""
        return rows.filter(OUTCOMES[outcome])


@dataclass(frozen=True)
class Page:
    """Entries, newest first, between two numbers; None for a neighbor that is not there."""

    entries: list[Entry]
    newer: int | None  # the page above has the entries after this number
    older: int | None  # the page below has those before it


def page_of(rows: QuerySet[Entry], before: str = "", after: str = "") -> Page:
    """Return a page of the entries with numbers below `before`, or of the next ones above `after`, else the newest.

    Pages are found by number, so that a late one costs as much as the first, and new entries move none.
    """
    if bound := _number(after):
        found = list(rows.filter(number__gt=bound).order_by("number")[: PAGE_SIZE + 1])
        shown = found[PAGE_SIZE - 1 :: -1] if len(found) > PAGE_SIZE else found[::-1]
        return Page(shown, shown[0].number if len(found) > PAGE_SIZE else None, shown[-1].number if shown else None)
    bound = _number(before)
    newest_first = rows.order_by("-number")
    found = list((newest_first.filter(number__lt=bound) if bound else newest_first)[: PAGE_SIZE + 1])
    shown = found[:PAGE_SIZE]
    is_first = not bound or not shown
    return Page(shown, None if is_first else shown[0].number, shown[-1].number if len(found) > PAGE_SIZE else None)


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else 0


def actions() -> list[str]:
    """Return the acts to choose from, as suggestions: others are recorded too."""
    kinds = {action.partition(".")[0] for action in known_actions()}
    return sorted(kinds | set(known_actions()))


def as_lines(rows: QuerySet[Entry]) -> Iterator[str]:
    """Yield each entry as a line of JSON, oldest first; in portions, so that no length of the trail fills memory."""
    last = 0
    while found := list(rows.filter(number__gt=last).order_by("number")[:PORTION]):
        yield "".join(f"{json.dumps(entry.as_json(), ensure_ascii=False)}\n" for entry in found)
        last = found[-1].number
