"""What nearly every row of a list has, a state's badge and a budget's bar: made here and not by templates.

A page has a hundred of them, and a template with an include, conditions and texts takes four times as long for one.
"""

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from panel.templatetags.pooldeck import lasting_percent, state_words
from pools.inventory.budget import Budget

register = template.Library()

DOTS = {
    moving: format_html('<span class="status-dot{}"></span>', " status-dot-animated" if moving else "")
    for moving in (False, True)
}
TICK = SafeString('<span class="pd-state-tick"></span>')
HIGH_PERCENT = 80
UNKNOWN_BUDGET = '<span class="pd-muted">{}</span>'
BAR = (
    '<div class="pd-budget{}"><svg class="pd-bar" role="img" aria-label="{}">'
    '<rect class="pd-bar-track" width="100%" height="100%" /><rect class="pd-bar-value" width="{}%" height="100%" />'
    "</svg>{}</div>"
)


@register.simple_tag(takes_context=True)
def state_badge(context: template.Context) -> SafeString:
    """Render a state as a badge; the context has `state` and maybe `label` and `reason`, see `includes/state.html`."""
    return badge(*(context.get(name) for name in ("state", "label", "reason", "panel_is_paused")))


def badge(state: object, label: object, reason: object, panel_is_paused: object) -> SafeString:
    """Return a state as a badge; see `includes/state.html`."""
    key = "" if state is None else str(state)
    words = state_words(key)
    label = label or words.label or key
    if words.verified and panel_is_paused:
        return _unverified(label)
    return format_html(
        '<span class="status status-{} pd-state" title="{}{}{}">{}{}</span>',
        words.color,
        words.meaning,
        ": " if reason else "",
        reason or "",
        TICK if words.verified else DOTS[words.moving],
        label,
    )


def _unverified(label: object) -> SafeString:
    title = _("State when this panel was copied: %(shown)s; not checked since") % {"shown": label}
    html = '<span class="status status-orange pd-state" title="{}">{}{}</span>'
    return format_html(html, title, DOTS[False], _("unverified"))


@register.simple_tag
def budget_line(budget: Budget) -> SafeString:
    """Render a cluster's connections as a bar with one line below it."""
    if budget.available is None:
        return format_html(UNKNOWN_BUDGET, _("unknown until a check succeeds"))
    figures = {"allocated": budget.lasting, "available": budget.available}
    given = mark_safe(_("<strong>%(allocated)s</strong> of %(available)s") % figures)  # noqa: S308 (numbers)
    line = format_html(
        '<div class="pd-budget-line"><span>{}</span><span>{}</span></div>', given, _rest(budget, budget.free or 0)
    )
    return budget_bar(line, budget)


@register.simple_block_tag
def budget_bar(content: SafeString, budget: Budget) -> SafeString:
    """Render a cluster's connections as a bar with what is said below it; their number is known."""
    share, available = lasting_percent(budget), budget.available or 0
    level = " pd-budget-full" if budget.lasting >= available else " pd-budget-high" if share >= HIGH_PERCENT else ""
    return format_html(BAR, level, _in_words(budget, available), share, content)


def _rest(budget: Budget, free: int) -> str:
    if lent := budget.for_experiments:
        return ngettext("%(n)s lent to experiments", "%(n)s lent to experiments", lent) % {"n": lent}
    if over := budget.over:
        text = ngettext("%(over)s too many", "%(over)s too many", over) % {"over": over}
        return format_html('<span class="pd-bad">{}</span>', text)
    return ngettext("%(free)s free", "%(free)s free", free) % {"free": free}


def _in_words(budget: Budget, available: int) -> str:
    figures = {"taken": budget.lasting, "allocated": budget.lasting, "available": available}
    if budget.unmanaged.connections:
        text = ngettext(
            "%(taken)s of %(available)s connection taken by pools and by entries that are not managed here",
            "%(taken)s of %(available)s connections taken by pools and by entries that are not managed here",
            available,
        )
    else:
        text = ngettext(
            "%(allocated)s of %(available)s connection allocated to pools",
            "%(allocated)s of %(available)s connections allocated to pools",
            available,
        )
    return text % figures
