"""The login, and pages of the API tokens: list, create (the token is shown once), revoke."""

import uuid

from allauth.account.utils import perform_login
from django.contrib import messages
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from core.accounts import limits
from core.accounts.access import needs
from core.accounts.forms import TokenForm
from core.accounts.models import ApiToken
from core.accounts.permissions import person

TOKENS_A_PAGE = 50


class Login(LoginView):
    """The login by name and password, after which a second factor is asked for where the user has one."""

    template_name = "accounts/login.html"
    redirect_authenticated_user = True

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        """Go on to the second factor, or begin the session."""
        answer: HttpResponse = perform_login(self.request, form.get_user(), redirect_url=self.get_success_url())
        return answer


def page_of_tokens(request: HttpRequest, form: TokenForm, made: str = "", status: int = 200) -> HttpResponse:
    """Render the user's tokens and the form; `made` is the text of a new token, shown once."""
    tokens = Paginator(ApiToken.objects.filter(user=person(request.user)), TOKENS_A_PAGE)
    page = tokens.get_page(request.GET.get("page"))
    names = limits.names_of(page)
    rows = [{"token": token, "limit": names.get(token.limited_to) if token.limited_to else None} for token in page]
    context = {"form": form, "made": made, "page": page, "rows": rows}
    return render(request, "accounts/tokens.html", context, status=status)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@needs("token.own")
def token_list(request: HttpRequest) -> HttpResponse:
    """List the user's tokens; POST creates one and shows its text in the response, never again."""
    user = person(request.user)
    if request.method != "POST":
        return page_of_tokens(request, TokenForm(user))
    form = TokenForm(user, request.POST)
    if not form.is_valid():
        return page_of_tokens(request, form, status=422)
    token = ApiToken.objects.issue(user, form.cleaned_data["name"], form.cleaned_data["scopes"], form.expires_at())
    return page_of_tokens(request, TokenForm(user), token)


@require_http_methods(["GET", "HEAD", "POST"])
@needs("token.own")
def token_revoke(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    """Confirm, then revoke one of the user's own tokens."""
    token = get_object_or_404(ApiToken, pk=pk, user=person(request.user))
    if request.method != "POST":
        return render(request, "accounts/token_revoke.html", {"token": token})
    token.revoke()
    messages.success(
        request,
        _("The token %(token)s is revoked: requests that carry it are refused from now on.") % {"token": token},
    )
    return redirect("token-list")
