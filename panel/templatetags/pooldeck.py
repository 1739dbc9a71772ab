"""Tags and filters of every page: icons, state badges, form controls, navigation, sizes and times."""

from datetime import datetime
from typing import Any, Literal, TypeGuard

from django import template
from django.forms import BoundField, CheckboxInput, RadioSelect, Select
from django.template.defaultfilters import pluralize
from django.templatetags.static import static
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from panel.state_labels import PROOFS, STATES, UNKNOWN_STATE, StateWords
from pools.inventory.budget import Budget

register = template.Library()
Number = float | Literal[""] | None

SIZE_UNITS = ["bytes", "kB", "MB", "GB", "TB"]
NAVIGATION: list[tuple[str, str, str, str | tuple[str, ...]]] = [
    # label, URL name, icon, prefix of the URL names it stands for
    ("Dashboard", "dashboard", "dashboard", "dashboard"),
    ("Clusters", "cluster-list", "cluster", "cluster-"),
    ("Poolers", "pooler-list", "pooler", "pooler-"),
    ("Pools", "pool-list", "pool", "pool-"),
    ("Events", "event-list", "warning", "event-"),
    ("Runs", "run-list", "run", "run-"),
    ("Experiments", "experiment-list", "compare", ("experiment-", "playbook-")),
    ("Generators", "generator-list", "plug", "generator-"),
    ("Datasets", "dataset-list", "dataset", "dataset-"),
    ("Scripts", "script-list", "file", "script-"),
    ("Settings profiles", "profile-list", "scale", "profile-"),
    ("API tokens", "token-list", "key", "token-"),
    ("API docs", "api-docs", "code", "api-docs"),
]


@register.simple_tag
def icon(name: str, extra: str = "") -> SafeString:
    """A drawing of static/img/icons.svg; it says nothing to screen readers, so text stands beside it."""
    address = f"{static('img/icons.svg')}#{name}"
    return format_html(
        '<svg class="pd-icon {}" aria-hidden="true" focusable="false"><use href="{}"/></svg>', extra, address
    )


@register.inclusion_tag("includes/navigation.html", takes_context=True)
def navigation(context: dict[str, Any]) -> dict[str, Any]:
    """The links of the side, the one of this page marked."""
    match = getattr(context.get("request"), "resolver_match", None)
    here = (match.url_name or "") if match else ""
    items = [
        {"label": label, "url": reverse(name), "icon": drawing, "active": here.startswith(prefix)}
        for label, name, drawing, prefix in NAVIGATION
    ]
    return {"items": items}


@register.filter
def state_words(state: str) -> StateWords:
    """How a state looks and what it means; a word nobody knows stays grey."""
    return STATES.get(str(state), UNKNOWN_STATE)


@register.filter
def state_label(state: str) -> str:
    """The state as people write it: `rolled back`."""
    return str(state).replace("_", " ")


@register.filter
def control(field: BoundField) -> SafeString:
    """The field's widget with the classes of the design library."""
    widget = field.field.widget
    if isinstance(widget, CheckboxInput):
        style = "form-check-input"
    elif isinstance(widget, RadioSelect):
        style = ""
    else:
        style = "form-select" if isinstance(widget, Select) else "form-control"
    invalid = "is-invalid" if field.errors else ""
    own = widget.attrs.get("class", "")
    return field.as_widget(attrs={"class": " ".join(filter(None, [style, invalid, own]))})


@register.filter
def is_checkbox(field: BoundField) -> bool:
    """Whether the label belongs behind the control."""
    return isinstance(field.field.widget, CheckboxInput)


def _known(number: Number) -> TypeGuard[float]:
    """Templates give an empty text for a key that is not there."""
    return number is not None and number != ""


@register.filter
def size(number: Number) -> str:
    """Bytes as PostgreSQL's pg_size_pretty writes them, powers of 1024: `7.6 MB`; a dash when unknown."""
    if not _known(number):
        return "–"
    for unit in SIZE_UNITS:
        if abs(number) < 1024 or unit == SIZE_UNITS[-1]:
            break
        number /= 1024
    return f"{number:.0f} {unit}" if unit == "bytes" or number >= 100 else f"{number:.1f} {unit}"


@register.filter
def duration(seconds: Number) -> str:
    """Seconds as people say them: `45 s`, `2 min 5 s`, `3 h 10 min`; a dash when unknown."""
    if not _known(seconds):
        return "–"
    if seconds < 10 and seconds != int(seconds):
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    parts = [(hours, "h"), (minutes, "min"), (0 if hours else rest, "s")]
    return " ".join(f"{number} {unit}" for number, unit in parts if number) or "0 s"


@register.filter
def figure(number: Number) -> str:
    """A measured number with three or so digits that matter: `12,346`, `812.4`, `0.167`; a dash when unknown."""
    if not _known(number):
        return "–"
    whole = abs(number) >= 1000 or number == int(number)
    digits = 0 if whole else 1 if abs(number) >= 100 else 2 if abs(number) >= 1 else 3
    return f"{number:,.{digits}f}"


@register.filter
def allocated_percent(budget: Budget) -> float:
    """How much of a budget is given away, 0 to 100, for the length of a bar."""
    if not budget.available:
        return 100.0 if budget.allocated else 0.0
    return round(min(100.0, 100 * budget.allocated / budget.available), 1)


@register.filter
def proves(step: str) -> bool:
    """Whether a step of an apply read something back or logged in, rather than only did something."""
    return step in PROOFS


@register.filter
def clock(moment: str) -> str:
    """The time of day of an ISO time, in the panel's zone."""
    return timezone.localtime(datetime.fromisoformat(moment)).strftime("%H:%M:%S")


@register.simple_tag
def when(moment: datetime | Literal[""] | None, never: str = "never") -> SafeString | str:
    """A time as its distance from now, with date, time and zone in the tooltip."""
    if not moment:  # templates give an empty text for a status that is not there
        return never
    local = timezone.localtime(moment)
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        local.isoformat(timespec="seconds"),
        local.strftime("%Y-%m-%d %H:%M:%S %Z"),
        distance((timezone.now() - moment).total_seconds()),
    )


def distance(seconds: float) -> str:
    """How long ago, roughly: `just now`, `5 minutes ago`, `3 days ago`."""
    if seconds < 5:
        return "just now"
    for unit, length in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= length:
            count = int(seconds // length)
            return f"{count} {unit}{pluralize(count)} ago"
    return f"{int(seconds)} seconds ago"
