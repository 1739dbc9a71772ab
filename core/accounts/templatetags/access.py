"""`may` in templates: `{% if may.pool.change %}` for some record of some team, `{% if may.pool.change|on:pool %}`."""

from django import template
from django.conf import settings
from django.db.models import Model
from django.utils.html import format_html

from core.accounts import reasons
from core.accounts.access import Access
from core.accounts.in_templates import Permission
from core.accounts.models import Team
from core.lib.query_params import id_of

register = template.Library()


@register.filter
def on(permission: Permission | str, record: Model | None) -> bool:
    """Tell whether the user may do this to the record; no for a page that is shown to nobody in particular."""
    return isinstance(permission, Permission) and permission.on(record)


@register.inclusion_tag("includes/reason.html", takes_context=True)
def reason_field(context: template.Context, error: str = "", *, of: object = "") -> dict[str, object]:
    """Render the field for the reason of a destructive act, with what was typed; `of` tells two on a page apart."""
    request = context.get("request")
    return {
        "typed": request.POST.get(reasons.FIELD, "") if request else "",
        "error": error,
        "required": settings.REQUIRE_REASON,
        "longest": reasons.LONGEST,
        "id": f"reason-{of}" if of else "reason",
    }


@register.inclusion_tag("accounts/includes/team_filter.html", takes_context=True)
def team_filter(context: template.Context, alone: str = "") -> dict[str, object]:
    """Render the choice of a team, where the user sees several; `alone` is the address of a form of its own."""
    request = context["request"]
    access = Access.of(request)
    teams = list(access.visible(Team.objects.all())) if access.has_several_teams else []
    return {"teams": teams if len(teams) > 1 else [], "chosen": id_of(request.GET.get("team", "")), "alone": alone}


@register.simple_tag
def ask_reason(about: object = "") -> str:
    """Render what lets a button without a field ask for the reason on a page of its own, which names `about`."""
    return format_html('<input type="hidden" name="{}" value="{}">', reasons.ASKED, about)
