"""Pages that measure how long a login to a pool or an entry takes, and where the time goes."""

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from core.accounts.access import find, needs
from pools.advice import login_cost
from pools.errors import PoolsError
from pools.forms.entries import PassingLoginForm
from pools.models import Entry, Pool


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@needs("pool.logins")
def pool_logins(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Show how clients authenticate; a POST measures `login_cost.LOGINS` logins and breaks their time down."""
    pool = find(request, Pool.objects.select_related("pooler", "cluster"), pk=pk)
    context: dict[str, object] = {"pool": pool, "client_auth": login_cost.client_auth_note(pool)}
    context["count"] = login_cost.LOGINS
    if request.method == "POST":
        try:
            context["logins"] = found = login_cost.measure(pool)
            context["remedies"] = login_cost.remedies_of(pool.pooler, found[0])
        except PoolsError as error:
            context["refused"] = str(error)
    return render(request, "pools/pool_logins.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@needs("entry.logins")
def entry_logins(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Ask for a login that the pooler lets in; a POST measures `login_cost.LOGINS` of it, and keeps nothing of it."""
    entry = find(request, Entry.objects.select_related("pooler", "cluster", "pool"), pk=pk)
    form = PassingLoginForm(request.POST or None, entry=entry)
    context: dict[str, object] = {"entry": entry, "form": form, "count": login_cost.LOGINS}
    if request.method == "POST" and form.is_valid():
        try:
            found, context["note"] = login_cost.measure_entry(entry, **form.cleaned_data)
        except PoolsError as error:
            form.add_error(None, str(error))
        else:
            remedies = login_cost.remedies_of(entry.pooler, found[0], is_managed=entry.pool is not None)
            context |= {"logins": found, "remedies": remedies}
            context["form"] = PassingLoginForm(entry=entry, initial=form.cleaned_data | {"password": ""})
    return render(request, "pools/entry_logins.html", context, status=422 if form.errors else 200)
