"""Fields that choose a record: a select where there are few, a search field that asks the server where there are many.

The search field is a text field with a list of suggestions, so that it works by keyboard and without JavaScript: it
takes the record's name as people write it. What it posts under its name may as well be the id, as a select posts it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django import forms
from django.db.models import Model, Q, QuerySet
from django.forms.utils import flatatt
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from pools.models import Cluster, Pool, Pooler
from pools.poolers import kinds_that

MOST_LISTED = 100  # options of a select
SUGGESTED = 20


@dataclass(frozen=True)
class Source:
    """Records that a field can offer: `text` is what people write for one, and `named` finds it by that."""

    rows: Callable[[], QuerySet[Any]]
    text: Callable[[Any], str] = str
    label: Callable[[Any], str] = str
    named: Callable[[str], Q] = lambda text: Q(name=text)
    matching: Callable[[str], Q] = lambda words: Q(name__icontains=words)

    def suggestions(self, rows: QuerySet[Any], words: str) -> list[tuple[str, str]]:
        """Return the text and the label of the first of these records with the words; those named so come first."""
        exact = list(rows.filter(self.named(words))[:SUGGESTED]) if words else []
        others = rows.filter(self.matching(words)).exclude(pk__in=[one.pk for one in exact])
        return [(self.text(one), self.label(one)) for one in [*exact, *others[: SUGGESTED - len(exact)]]]


def _pool_named(text: str) -> Q:
    """Return the condition for `name@pooler`; a name alone is enough where only one pool has it."""
    name, at, pooler = text.partition("@")
    return Q(name=name, pooler__name=pooler) if at else Q(name=name)


def _pool_matching(words: str) -> Q:
    name, at, pooler = words.partition("@")
    if at:
        return Q(name__icontains=name, pooler__name__icontains=pooler)
    return Q(name__icontains=words) | Q(pooler__name__icontains=words) | Q(cluster__name__icontains=words)


SOURCES: dict[str, Source] = {
    "cluster": Source(lambda: Cluster.objects.order_by("name")),
    "unused-cluster": Source(lambda: Cluster.objects.filter(shelf_entry=None, pools=None).order_by("name")),
    "pooler": Source(lambda: Pooler.objects.order_by("name")),
    "managed-pooler": Source(lambda: Pooler.objects.managed().order_by("name")),
    "pooler-for-experiments": Source(
        lambda: Pooler.objects.filter(kind__in=kinds_that("takes_experiments")).order_by("name")
    ),
    "pool": Source(
        lambda: Pool.objects.wanted().of_people().select_related("cluster", "pooler").order_by("name", "pk"),
        text=lambda pool: f"{pool.name}@{pool.pooler}",
        label=lambda pool: f"{pool.name} → {pool.cluster}/{pool.database} ({pool.pooler})",
        named=_pool_named,
        matching=_pool_matching,
    ),
}


class RecordInput(forms.Select):
    """The widget: Django's select, or the search field where the field has more records than a select lists."""

    source_name = ""

    @property
    def field(self) -> "RecordChoiceField":
        """The field that it shows, which gives it its choices."""
        return self.choices.field  # type: ignore[attr-defined, no-any-return]  # Django's ModelChoiceIterator

    def value_from_datadict(self, data: Any, files: Any, name: str) -> Any:  # noqa: ANN401 (as Django declares it)
        """Return the id that was posted, or that of the record whose name was; else what was typed."""
        typed = super().value_from_datadict(data, files, name)
        return self.field.key_of(typed) if isinstance(typed, str) else typed

    def use_required_attribute(self, initial: object) -> bool:
        """Tell whether the browser may refuse an empty field; Django's looks for an empty option among all records."""
        return not self.is_hidden if self.field.has_many else super().use_required_attribute(initial)

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:  # noqa: ANN401 (Django's)
        if not self.field.has_many:
            return super().render(name, value, attrs, renderer)
        shown = self.build_attrs(self.attrs, attrs)
        place = f"{shown.get('id', name)}_records"
        text = self.field.text_of(value)
        return format_html(
            '<input type="text"{}><datalist id="{}"></datalist>',
            flatatt(shown | search_attributes(self.source_name, name, text, place, self.field.hint)),
            place,
        )


def search_attributes(source: str, name: str, text: str, place: str, hint: str) -> dict[str, str]:
    """Return the attributes of a search field: `source` of `SOURCES`, and the id of its list of suggestions."""
    return {
        "name": name,
        "value": text,
        "list": place,
        "placeholder": hint,
        "autocomplete": "off",
        "spellcheck": "false",
        "hx-get": f"{reverse('record-choices', args=[source])}?of={name}",
        "hx-trigger": "focus once, input changed delay:150ms",
        "hx-target": f"#{place}",
        "hx-swap": "innerHTML",
        "hx-include": "this",
        "hx-sync": "this:replace",
    }


class RecordChoiceField(forms.ModelChoiceField):  # type: ignore[type-arg]  # not subscriptable when it runs
    """A choice of one record of a source; forms narrow its `queryset` to what their user may choose."""

    widget = RecordInput

    def __init__(self, source: str, **kwargs: Any) -> None:
        self.source_name = source
        super().__init__(self.source.rows(), **kwargs)
        self.widget.source_name = source

    @property
    def source(self) -> Source:
        """What it chooses from."""
        return SOURCES[self.source_name]

    @property
    def has_many(self) -> bool:
        """True if there are more records than a select lists."""
        return len(self.queryset.order_by().values_list("pk")[: MOST_LISTED + 1]) > MOST_LISTED  # type: ignore[union-attr]

    @property
    def hint(self) -> str:
        """What the empty search field says: what no choice means, else how to choose."""
        return str(self.empty_label if self.empty_label and not self.required else _("Type a part of its name"))

    def label_from_instance(self, obj: Any) -> str:  # noqa: ANN401 (a record)
        return self.source.label(obj)

    def key_of(self, typed: str) -> str:
        """Return the id of the record that has this name; else the text itself, as an id is."""
        text = typed.strip()
        if not text or "\0" in text or _is_id(text):  # PostgreSQL compares no text with a NUL
            return text
        found = list(self.queryset.filter(self.source.named(text)).values_list("pk", flat=True)[:2])  # type: ignore[union-attr]
        return str(found[0]) if len(found) == 1 else text

    def text_of(self, value: object) -> str:
        """Return what the search field shows for a value: a record, its id, or what was typed.

        Without a value it is the first record where one is always chosen, as in a select.
        """
        rows: Any = self.queryset
        if isinstance(value, Model):
            return self.source.text(value)
        if not value:
            first = None if self.empty_label else rows.first()
            return self.source.text(first) if first else ""
        record = rows.filter(pk=value).first() if _is_id(str(value)) else None
        return self.source.text(record) if record else str(value)

    def to_python(self, value: Any) -> Any:  # noqa: ANN401 (as Django declares it)
        """Return the record of an id, or of a name; what is neither is no choice of the list."""
        if isinstance(value, str) and value and not _is_id(value := self.key_of(value)):
            raise forms.ValidationError(self.error_messages["invalid_choice"], "invalid_choice", {"value": value})
        return super().to_python(value)


def _is_id(text: str) -> bool:
    try:
        return bool(UUID(text))
    except ValueError:
        return False


@dataclass(frozen=True)
class Filter:
    """A filter of a list by a record's name: the names to list, or None where they are too many."""

    name: str
    chosen: str
    label: str
    any_label: str
    names: list[str] | None

    @property
    def attributes(self) -> SafeString:
        """The attributes of its search field."""
        place = f"filter-{self.name}-records"
        return flatatt(search_attributes(self.name, self.name, self.chosen, place, self.any_label))


def filter_by(name: str, rows: QuerySet[Any], chosen: str, label: str, any_label: str) -> Filter:
    """Return a filter by the records of a source that these rows are of."""
    found = list(rows.values_list("name", flat=True)[: MOST_LISTED + 1])
    return Filter(name, chosen, label, any_label, None if len(found) > MOST_LISTED else found)
