"""The page of the link for the first administrator: its own name and password, without a login."""

from django.contrib.auth import login
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.forms import UserCreationForm
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from core.accounts import confirmation, first_admin
from core.accounts.access import needs
from core.lib import crypto

KEPT_AS = "first_admin_token"
BACKEND = "django.contrib.auth.backends.ModelBackend"


@login_not_required
@sensitive_post_parameters()
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@needs("session.start")
def first_admin_form(request: HttpRequest) -> HttpResponse:
    """Take the token out of the address, then the form; an address without a good link answers 410 with the reason."""
    if token := request.GET.get("token"):
        # The session carries it on, so that it stands neither in the history nor in a Referer, and sealed, so that
        # whoever reads the metadata database can't use it.
        request.session[KEPT_AS] = crypto.seal(token, KEPT_AS)
        return redirect("first-admin")
    form: UserCreationForm[User] = UserCreationForm(request.POST if request.method == "POST" else None)
    try:
        first_admin.verify(crypto.unseal(request.session.get(KEPT_AS, ""), KEPT_AS))
        if form.is_valid():
            return _make(request, form)
    except first_admin.LinkRefused as refused:
        return render(request, "accounts/first_admin.html", {"refused": str(refused)}, status=410)
    return render(request, "accounts/first_admin.html", {"form": form}, status=422 if form.is_bound else 200)


def _make(request: HttpRequest, form: "UserCreationForm[User]") -> HttpResponse:
    user = form.save(commit=False)
    first_admin.make(user, crypto.unseal(request.session.pop(KEPT_AS), KEPT_AS))
    login(request, user, backend=BACKEND)
    confirmation.note(request)
    return redirect("dashboard")
