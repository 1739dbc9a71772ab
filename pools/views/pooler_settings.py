"""Pages of a pooler's own settings: of the program, of users, and its certificates and rule files."""

from functools import partial
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from core.accounts.access import Access, find, needs
from core.accounts.permissions import person
from pools.forms.settings import FilesForm, ProgramSettingsForm, UserSettingsForm, ValuesForm
from pools.inventory import given_files, pooler_settings_validation
from pools.inventory import pooler_settings as settings_changes
from pools.inventory.pooler_settings import InvalidSettings
from pools.models import Pooler, PoolState
from pools.poolers import live_settings, shown_secrets
from pools.poolers.settings_schema import Scope
from pools.views import settings_context
from pools.views.form_submit import Attempt, attempt, attempt_with_sql
from pools.views.managed import managed_only

SAVED = gettext_lazy("Saved; a worker applies the change and reads it back.")


def _may_change(request: HttpRequest, pooler: Pooler) -> bool:
    return Access.of(request).may("pooler.change", pooler)


@never_cache
@needs("pooler.view", post="pooler.change")
@managed_only
def pooler_settings(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Render and accept the settings of the program, beside their live values; a stale edit answers 409."""
    pooler = find(request, Pooler.objects.all(), pk=pk)
    form = ProgramSettingsForm(request.POST or None, pooler=pooler, may_change=_may_change(request, pooler))
    context: dict[str, object] = {"form": form}
    status = 200
    if request.method == "POST" and form.is_valid():
        version, author = form.cleaned_data["version"], person(request.user)
        verb = partial(settings_changes.change_settings, pooler, form.values(), version, author)
        tried = _with_differences(form, attempt_with_sql(request, form, verb, current=pooler), pooler)
        if tried.saved:
            messages.success(request, SAVED)
            return redirect("pooler-settings", pk)
        context, status = context | tried.context, tried.status
    live = shown_secrets.mask_values(live_settings.read(pooler) or {})
    context |= {"groups": settings_context.groups(pooler, form, live), "has_live": bool(live)}
    return render(request, "pools/pooler_settings.html", context | _shared(pooler), status=status)


@never_cache
@needs("pooler.view", post="pooler.change")
@managed_only
def pooler_user_settings(request: HttpRequest, pk: UUID) -> HttpResponse:
    """List the users with limits over all pools; render and accept the limits of one user (`?user=`)."""
    pooler = find(request, Pooler.objects.all(), pk=pk)
    query = request.POST if request.method == "POST" else request.GET
    form = UserSettingsForm(request.POST or None, pooler=pooler, user=query.get("user", "").strip())
    context: dict[str, object] = {"form": form, "users": settings_context.users(pooler)}
    status = 200
    if request.method == "POST" and form.is_valid():
        user, version, author = form.cleaned_data["user"], form.cleaned_data["version"], person(request.user)
        verb = partial(settings_changes.change_user_settings, pooler, user, form.values(), version, author)
        tried = _with_differences(form, attempt(form, verb, current=pooler), pooler, user)
        if tried.saved:
            messages.success(request, SAVED)
            return redirect("pooler-settings-users", pk)
        context, status = context | tried.context, tried.status
    return render(request, "pools/pooler_settings_users.html", context | _shared(pooler), status=status)


@require_POST
@needs("pooler.change", destroys=gettext_lazy("Remove the limits"))
@managed_only
def pooler_user_settings_remove(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Remove a user's entry of [users]; the user then has the program's limits."""
    pooler = find(request, Pooler.objects.all(), pk=pk)
    user = request.POST.get("user", "")
    limits = dict.fromkeys(pooler.user_settings.get(user, {}))
    if limits:
        settings_changes.change_user_settings(pooler, user, limits, None, person(request.user))
        removed = _("The limits of %(user)s were removed; a worker applies the change and reads it back.")
        messages.success(request, removed % {"user": user})
    return redirect("pooler-settings-users", pk)


@never_cache
@needs("pooler.view", post="pooler.change")
@managed_only
def pooler_files(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Render and accept the files that the settings refer to; files sent together are validated together."""
    pooler = find(request, Pooler.objects.all(), pk=pk)
    form = FilesForm(request.POST or None, request.FILES or None, pooler=pooler)
    context: dict[str, object] = {"form": form}
    status = 200
    if request.method == "POST" and form.is_valid():
        contents, version, author = form.values(), form.cleaned_data["version"], person(request.user)
        if not contents:
            form.add_error(None, _("no file was given: choose one or paste its text"))
        else:
            tried = attempt(form, partial(settings_changes.give_files, pooler, contents, author, version), pooler)
            if tried.saved:
                messages.success(request, SAVED)
                return redirect("pooler-settings-files", pk)
            context, status = context | tried.context, tried.status
    context["given"] = [
        (one, form[one.setting.name], form[f"upload_{one.setting.name}"]) for one in given_files.listed(pooler)
    ]
    return render(request, "pools/pooler_settings_files.html", context | _shared(pooler), status=status)


@require_POST
@needs("pooler.change", destroys=gettext_lazy("Remove the file"))
@managed_only
def pooler_file_remove(request: HttpRequest, pk: UUID, setting: str) -> HttpResponse:
    """Remove a stored file, unless a setting needs it."""
    pooler = find(request, Pooler.objects.all(), pk=pk)
    try:
        settings_changes.remove_file(pooler, setting, person(request.user))
    except InvalidSettings as error:
        messages.error(request, str(error))
    else:
        removed = _("%(setting)s was removed; a worker applies the change and reads it back.")
        messages.success(request, removed % {"setting": setting})
    return redirect("pooler-settings-files", pk)


@require_safe
@needs("pooler.view")
def pooler_settings_state(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Render whether the settings are live and what needs a restart; the page polls it while an apply is pending."""
    context = {"steps": "steps" in request.GET, **_shared(find(request, Pooler.objects.all(), pk=pk))}
    return render(request, "pools/includes/settings_state.html", context)


def _with_differences(form: ValuesForm, tried: Attempt[Pooler], pooler: Pooler, user: str = "") -> Attempt[Pooler]:
    """Add the typed values beside the current ones to a stale edit."""
    if "stale" in tried.context:
        current = pooler.user_settings.get(user, {}) if user else pooler.settings
        tried.context["stale"] = form.differences(current)
    return tried


def _shared(pooler: Pooler) -> dict[str, object]:
    return {
        "pooler": pooler,
        "is_moving": pooler.settings_state == PoolState.PENDING,
        "takes_users": bool(pooler_settings_validation.offered(pooler, Scope.USER)),
        "takes_files": bool(pooler_settings_validation.files_offered(pooler)),
    }
