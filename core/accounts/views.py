"""The login, and pages of the API tokens: list, create (the token is shown once), revoke."""

import uuid
from typing import Any

from allauth.account.utils import perform_login
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.core.paginator import Paginator
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from core.accounts import limits
from core.accounts.access import Access, find, needs
from core.accounts.forms import TokenForm
from core.accounts.models import ApiToken, Team
from core.accounts.permissions import person
from core.accounts.sign_on import proxy_header

TOKENS_A_PAGE = 50


class Login(LoginView):
    """The login by name and password, after which a second factor is asked for where the user has one."""

    template_name = "accounts/login.html"
    redirect_authenticated_user = True

    def get(self, request: HttpRequest, *args: Any, **words: Any) -> HttpResponse:
        """Show the form, unless a proxy names who it is; `?password` shows it nevertheless."""
        if proxy_header.is_named(request) and "password" not in request.GET:
            return proxy_header.sign_in(request, self.get_success_url())
        answer: HttpResponse = super().get(request, *args, **words)
        return answer

    def get_context_data(self, **words: Any) -> dict[str, Any]:
        """Add the OpenID Connect provider, where there is one."""
        return super().get_context_data(**words) | {"oidc": settings.OIDC}

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        """Go on to the second factor, or begin the session."""
        answer: HttpResponse = perform_login(self.request, form.get_user(), redirect_url=self.get_success_url())
        return answer


def page_of_tokens(
    request: HttpRequest, form: TokenForm, team: Team | None = None, made: str = "", status: int = 200
) -> HttpResponse:
    """Render tokens, of a team or of the user, and the form; `made` is the text of a new token, shown once."""
    access = Access.of(request)
    of_holder = {"team": team} if team else {"user": person(request.user)}
    tokens = ApiToken.objects.filter(**of_holder).select_related("user", "team", "made_by")
    page = Paginator(tokens, TOKENS_A_PAGE).get_page(request.GET.get("page"))
    names = limits.names_of(access, page)
    rows = [{"token": token, "limit": names.get(token.limited_to) if token.limited_to else None} for token in page]
    context = {"form": form, "made": made, "page": page, "rows": rows, "team": team, "here": address_of_tokens(team)}
    if team is None:
        context["teams"] = access.teams("token.manage")
    return render(request, "accounts/tokens.html", context, status=status)


def address_of_tokens(team: Team | None) -> str:
    """Return the address of the page of a team's tokens, or of one's own."""
    return reverse("team-token-list", args=[team.pk]) if team else reverse("token-list")


def _list_or_create(request: HttpRequest, team: Team | None) -> HttpResponse:
    if request.method != "POST":
        form = TokenForm(Access.of(request), team, initial={"limit": request.GET.get("limit", "")})
        return page_of_tokens(request, form, team)
    form = TokenForm(Access.of(request), team, request.POST)
    if not form.is_valid():
        return page_of_tokens(request, form, team, status=422)
    made = form.new_token(person(request.user)).issue()
    return page_of_tokens(request, TokenForm(Access.of(request), team), team, made)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@needs("token.own")
def token_list(request: HttpRequest) -> HttpResponse:
    """List the user's tokens; POST creates one and shows its text in the response, never again."""
    return _list_or_create(request, None)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@needs("token.manage")
def team_token_list(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    """List the tokens of a team; POST creates one, which stays when its maker goes."""
    return _list_or_create(request, find(request, Team.objects.all(), pk=pk))


@require_http_methods(["GET", "HEAD", "POST"])
@needs("token.own", destroys=gettext_lazy("Revoke the token"))
def token_revoke(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    """Confirm, then revoke one of the user's own tokens, or one of a team whose tokens they manage."""
    access = Access.of(request)
    managed = Q(user=person(request.user)) | Q(team__in=access.teams("token.manage").values("pk"))
    token = get_object_or_404(ApiToken.objects.select_related("team"), managed, pk=pk)
    here = address_of_tokens(token.team)
    if request.method != "POST":
        return render(request, "accounts/token_revoke.html", {"token": token, "here": here})
    token.revoke()
    messages.success(
        request,
        _("The token %(token)s is revoked: requests that carry it are refused from now on.") % {"token": token},
    )
    return redirect(here)
