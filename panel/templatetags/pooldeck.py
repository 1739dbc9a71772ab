"""Tags and filters of every page: icons, state badges, form controls, navigation, sizes and times."""

from datetime import datetime
from functools import cache
from typing import Any, Literal, TypeGuard

from django import template
from django.db.models import Model
from django.forms import BoundField, CheckboxInput, RadioSelect, Select
from django.http import HttpRequest
from django.template.defaultfilters import truncatechars
from django.template.loader import render_to_string
from django.templatetags.static import static
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from core.accounts.access import Access
from core.accounts.models import Scope
from core.accounts.permissions import user_holds
from core.lib import figures, private_text
from panel import help_places
from panel.state_labels import PROOFS, STATES, STEPS, UNKNOWN_STATE, StateWords
from pools.approvals import outlook, requests
from pools.inventory.budget import Budget

register = template.Library()
Number = float | Literal[""] | None

MINUTE_S = 60
SIZE_UNITS = ["bytes", "kB", "MB", "GB", "TB"]
NAVIGATION: list[tuple[Promise, str, str, str | tuple[str, ...]]] = [
    # label, URL name, icon, prefix of the URL names of its section
    (gettext_lazy("Dashboard"), "dashboard", "dashboard", "dashboard"),
    (gettext_lazy("Clusters"), "cluster-list", "cluster", ("cluster-", "shelf-")),
    (gettext_lazy("Poolers"), "pooler-list", "pooler", "pooler-"),
    (gettext_lazy("Hosts"), "host-list", "lock", "host-"),
    (gettext_lazy("Pools"), "pool-list", "pool", "pool-"),
    (gettext_lazy("Approvals"), "approval-list", "check", "approval-"),
    (gettext_lazy("Events"), "event-list", "warning", "event-"),
    (gettext_lazy("Runs"), "run-list", "run", "run-"),
    (gettext_lazy("Experiments"), "experiment-list", "compare", ("experiment-", "playbook-")),
    (gettext_lazy("Schedules"), "schedule-list", "history", "schedule-"),
    (gettext_lazy("Generators"), "generator-list", "plug", "generator-"),
    (gettext_lazy("Datasets"), "dataset-list", "dataset", "dataset-"),
    (gettext_lazy("Scripts"), "script-list", "file", "script-"),
    (gettext_lazy("Settings profiles"), "profile-list", "scale", "profile-"),
    (gettext_lazy("Teams"), "team-list", "team", ("team-", "invitation-")),
    (gettext_lazy("People"), "person-list", "user", "person-"),
    (gettext_lazy("Audit trail"), "audit-list", "history", "audit-"),
    (gettext_lazy("API tokens"), "token-list", "key", "token-"),
    (gettext_lazy("Tools"), "tool-list", "copy", "tool-"),
    (gettext_lazy("API docs"), "api-docs", "code", "api-docs"),
]

SHOWN_FOR = {  # to who may do it
    "host-list": "host.view",
    "team-list": "team.members",
    "person-list": "person.manage",
    "audit-list": "audit.view",
}
RECORD = ""  # the label of a page that has the name of its record
ABOVE: dict[str, tuple[str, Promise | str]] = {
    # URL name: that of the page above it, and its label in breadcrumbs; the sidebar's pages have none above them
    "account-page": ("", gettext_lazy("Your account")),
    "cluster-detail": ("cluster-list", RECORD),
    "cluster-databases": ("cluster-detail", gettext_lazy("Databases")),
    "cluster-nodes": ("cluster-detail", gettext_lazy("Nodes")),
    "cluster-roles": ("cluster-detail", gettext_lazy("Roles")),
    "shelf-list": ("cluster-list", gettext_lazy("Shelf")),
    "pooler-detail": ("pooler-list", RECORD),
    "pooler-nodes": ("pooler-detail", gettext_lazy("Nodes")),
    "pooler-revisions": ("pooler-detail", gettext_lazy("Revisions")),
    "pooler-settings": ("pooler-detail", gettext_lazy("Settings")),
    "host-detail": ("host-list", RECORD),
    "event-thresholds": ("event-list", gettext_lazy("Thresholds")),
    "team-detail": ("team-list", RECORD),
    "invitation-list": ("team-list", gettext_lazy("Invitations")),
    "person-detail": ("person-list", RECORD),
    "pool-detail": ("pool-list", RECORD),
    "entry-list": ("", gettext_lazy("Not managed here")),
    "entry-detail": ("entry-list", RECORD),
    "run-detail": ("run-list", RECORD),
    "experiment-detail": ("experiment-list", RECORD),
    "ceiling-list": ("run-list", gettext_lazy("Run limits")),
    "external-list": ("run-list", gettext_lazy("External endpoints")),
    "external-edit": ("external-list", RECORD),
    "playbook-detail": ("experiment-list", RECORD),
    "schedule-detail": ("schedule-list", RECORD),
    "script-detail": ("script-list", RECORD),
    "profile-detail": ("profile-list", RECORD),
}


@register.simple_tag
def icon(name: str, extra: str = "") -> SafeString:
    """Render an icon of static/img/icons.svg. Screen readers skip it: put text beside it or label its button."""
    return _icon(f"{static('img/icons.svg')}#{name}", extra)


@cache  # a page has some 50 icons, all of names that templates hold
def _icon(address: str, extra: str) -> SafeString:
    classes = f"pd-icon {extra}".rstrip()
    return format_html('<svg class="{}" aria-hidden="true"><use href="{}"/></svg>', classes, address)


@register.inclusion_tag("includes/navigation.html", takes_context=True)
def navigation(context: dict[str, object]) -> dict[str, object]:
    """List the links of the sidebar; `active` marks the section of this page."""
    match = getattr(context.get("request"), "resolver_match", None)
    here = (match.url_name or "") if match else ""
    request = context.get("request")
    access = Access.of(request) if isinstance(request, HttpRequest) and hasattr(request, "user") else None
    items = [
        {
            "label": label,
            "url": reverse(name),
            "icon": drawing,
            "active": here.startswith(prefix),
            "count": len(requests.waiting_for(access)) if access and name == "approval-list" else 0,
        }
        for label, name, drawing, prefix in NAVIGATION
        if name not in SHOWN_FOR or (access and access.may(SHOWN_FOR[name]))
    ]
    return {"items": items}


@register.inclusion_tag("includes/help_link.html", takes_context=True)
def help_link(context: dict[str, object], page: str = "") -> dict[str, object]:
    """Render the link to what the documentation says of this page, or of the one with this URL name."""
    match = getattr(context.get("request"), "resolver_match", None)
    here = page or (match.url_name if match else "") or ""
    return {"address": reverse("help") + help_places.address_of(here)}


@register.inclusion_tag("includes/breadcrumbs.html")
def breadcrumbs(page: str, *here: object, of: Model | None = None) -> dict[str, object]:
    """Render the links that lead to this URL name, for the record `of`, then the texts in `here`."""
    labels = {name: label for label, name, _icon_name, _prefix in NAVIGATION}
    links: list[tuple[str, object]] = []
    while page:
        above, label = ABOVE[page] if page in ABOVE else ("", labels[page])
        address = reverse(page) if of is None or page.endswith("-list") else _address(page, of)
        links.insert(0, (address, label or getattr(of, "label", of)))
        page = above
    return {"links": links, "here": here}


def _address(page: str, of: Model) -> str:
    return reverse(page, args=[getattr(of, "address_key", of.pk)])


@register.simple_block_tag
def alert(content: SafeString, level: str, drawing: str, *, heading: str = "", role: str = "") -> SafeString:
    """Render a notice with an icon; its role is `alert` for a danger and `status` otherwise, unless one is given."""
    role = role or ("alert" if level == "danger" else "status")
    context = {"content": content, "level": level, "drawing": drawing, "heading": heading, "role": role}
    return render_to_string("includes/alert.html", context)


@register.inclusion_tag("includes/card_header.html")
def card_header(title: str, *, id: str = "", note: object = None) -> dict[str, object]:
    """Render the heading of a card, and a note beside it such as the number of its rows."""
    return {"title": title, "id": id, "note": note}


@register.inclusion_tag("includes/form_end.html")
def form_end(
    verb: str,
    page: str = "",
    *,
    of: Model | None = None,
    back: str = "",
    keep: str = "",
    level: str = "primary",
    drawing: str = "",
    note: str = "",
) -> dict[str, str]:
    """Render the button that sends a form, and the link that leaves it for `back`, or for the page of this URL name."""
    back = back or (_address(page, of) if of else reverse(page))
    keep = keep or (_("Keep it") if level == "danger" else _("Cancel"))
    return {"verb": verb, "back": back, "keep": keep, "level": level, "drawing": drawing, "note": note}


@register.inclusion_tag("includes/second_person.html", takes_context=True)
def second_person(context: template.Context, verb: str, **given: Any) -> dict[str, object]:
    """Render that an act will wait for a second person, and who may approve it; nothing where it is done at once."""
    request = context.get("request")
    return {"outlook": outlook.of(verb, given, getattr(request, "user", None))}


@register.inclusion_tag("includes/table_head.html")
def table_head(*titles: str, numbers: str = "", actions: bool = False) -> dict[str, object]:
    """Render the titles of a table's columns; `numbers` has the places of those with numbers, such as `3 4`."""
    places = {int(place) for place in numbers.split()}
    columns = [(title, place in places) for place, title in enumerate(titles, start=1)]
    return {"columns": columns, "actions": actions}


@register.filter
def state_words(state: str) -> StateWords:
    """Return color, label and meaning of a state; an unknown state is gray and has neither label nor meaning."""
    return STATES.get(str(state), UNKNOWN_STATE)


@register.filter
def state_label(state: str) -> str | Promise:
    """Return the label of a state, such as `rolled back`; the state itself where it is unknown."""
    return state_words(state).label or str(state)


@register.filter
def read_by(reason: str, user: object) -> str:
    """Return the user's reading of a text that may have a private part; needed only where the text is then cut."""
    return private_text.for_admins(reason) if user_holds(user, Scope.ADMIN) else private_text.for_others(reason)


@register.filter
def shortened(text: str, length: int) -> str:
    """Cut a text at this length as `truncatechars` does, which takes ten times as long for a text that is short."""
    return text if len(text) <= length else truncatechars(text, length)


@register.filter
def control(field: BoundField) -> SafeString:
    """Render the field's widget with the classes of the design library."""
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
    """Tell whether the label follows the control."""
    return isinstance(field.field.widget, CheckboxInput)


def _known(number: Number) -> TypeGuard[float]:
    # templates give an empty text for a key that is not there
    return number is not None and number != ""


@register.filter
def size(number: Number) -> str:
    """Format bytes as PostgreSQL's pg_size_pretty does, in powers of 1024: `7.6 MB`; a dash when unknown."""
    if not _known(number):
        return "–"
    for unit in SIZE_UNITS:
        if abs(number) < 1024 or unit == SIZE_UNITS[-1]:
            break
        number /= 1024
    return f"{number:.0f} {unit}" if unit == "bytes" or number >= 100 else f"{number:.1f} {unit}"


@register.filter
def duration(seconds: Number) -> str:
    """Format seconds: `45 s`, `2 min 5 s`, `3 h 10 min`; a dash when unknown."""
    if not _known(seconds):
        return "–"
    if seconds < 10 and seconds != int(seconds):
        return f"{seconds:.1f} s"
    minutes, left_s = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    parts = [(hours, "h"), (minutes, "min"), (0 if hours else left_s, "s")]
    return " ".join(f"{number} {unit}" for number, unit in parts if number) or "0 s"


@register.filter
def wait_time(milliseconds: Number) -> str:
    """Format milliseconds as events do: `0.167 ms`, `850 ms`, `29.0 s`, `2 min 5 s`; a dash when unknown."""
    if not _known(milliseconds):
        return "–"
    if milliseconds < 1000:
        return f"{figure(milliseconds)} ms"
    seconds = milliseconds / 1000
    return f"{seconds:.1f} s" if seconds < MINUTE_S else duration(seconds)


@register.filter
def figure(number: Number) -> str:
    """Format a number with at least three significant digits: `12,346`, `812.4`, `0.167`; a dash when unknown."""
    return figures.figure(number) if _known(number) else "–"


@register.filter
def signed(number: Number, digits: int | None = None) -> str:
    """Format a change with its sign as `core.lib.figures` does; a dash when unknown."""
    return figures.signed(number, digits) if _known(number) else "–"


@register.filter
def allocated_percent(budget: Budget) -> float:
    """Return the share of a budget that pools and other entries take in percent, 0 to 100."""
    return _share_percent(budget, budget.taken)


@register.filter
def lasting_percent(budget: Budget) -> float:
    """Return the share of a budget that is allocated to pools that stay, in percent, 0 to 100."""
    return _share_percent(budget, budget.lasting)


def _share_percent(budget: Budget, connections: int) -> float:
    if not budget.available:
        return 100.0 if connections else 0.0
    return round(min(100.0, 100 * connections / budget.available), 1)


@register.filter
def proves(step: str) -> bool:
    """Tell whether a step of an apply verified something, rather than only changed something."""
    return step in PROOFS


@register.filter
def step_label(step: str) -> str | Promise:
    """Return the label of a step of an apply, such as `read back`."""
    return STEPS.get(step, step)


@register.filter
def clock(moment: str) -> str:
    """Return the time of day of an ISO 8601 time, in the panel's time zone."""
    return timezone.localtime(datetime.fromisoformat(moment)).strftime("%H:%M:%S")


@register.simple_tag
def when(moment: datetime | Literal[""] | None, never: str | None = None) -> SafeString | str:
    """Render a time as its distance from now, with date, time and zone in the tooltip; `never` where it is unset."""
    if not moment:  # templates give an empty text for a status that is not there
        return _("never") if never is None else never
    local = timezone.localtime(moment)
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        local.isoformat(timespec="seconds"),
        local.strftime("%Y-%m-%d %H:%M:%S %Z"),
        distance((timezone.now() - moment).total_seconds()),
    )


def distance(seconds: float) -> str:
    """Describe roughly how long ago something was: `just now`, `5 minutes ago`, `3 days ago`."""
    if seconds < 5:
        return _("just now")
    if seconds < MINUTE_S:
        return ngettext("%(count)d second ago", "%(count)d seconds ago", int(seconds)) % {"count": seconds}
    if (minutes := int(seconds // MINUTE_S)) < 60:
        return ngettext("%(count)d minute ago", "%(count)d minutes ago", minutes) % {"count": minutes}
    if (hours := minutes // 60) < 24:
        return ngettext("%(count)d hour ago", "%(count)d hours ago", hours) % {"count": hours}
    days = hours // 24
    return ngettext("%(count)d day ago", "%(count)d days ago", days) % {"count": days}
