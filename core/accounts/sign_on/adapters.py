"""Who may sign in by the provider, as whom, and what they are then: allauth asks this before each sign-in."""

from typing import Any

from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialApp, SocialLogin
from allauth.socialaccount.providers.base.constants import AuthError, AuthProcess
from django.contrib import messages
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _

from core.accounts.sign_on import group_roles, newcomers, provenance, refusals
from core.accounts.sign_on.configuration import Grant
from core.accounts.sign_on.openid_connect import Provider, app, configured


class SignOnAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]  # allauth carries no types
    """The rules of sign-on in place of allauth's sign-up."""

    def list_apps(
        self, request: HttpRequest, provider: str | None = None, client_id: str | None = None
    ) -> list[SocialApp]:
        """Return the provider of the settings; none is stored in the database."""
        return [app()]

    def get_provider(self, request: HttpRequest, provider: str, client_id: str | None = None) -> Provider:
        """Return the provider of the settings."""
        return Provider(request, app())

    def get_connect_redirect_url(self, request: HttpRequest, socialaccount: object) -> str:
        """Return where a person goes who has linked their account."""
        return reverse("account-page")

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        """Find or make the person and let their roles follow their groups; or refuse, with the reason."""
        sociallogin.token = None  # nothing asks the provider later
        known: User | None = sociallogin.user if sociallogin.is_existing else None
        if sociallogin.state.get("process") == AuthProcess.CONNECT:
            return self._before_link(request, known)
        oidc, extra = configured(), sociallogin.account.extra_data
        grants = group_roles.given(oidc.rules, extra["groups"])
        if known is None:
            self._refuse_newcomer(request, extra, grants)
        with transaction.atomic():
            user = known or self._linked(request, sociallogin, grants)
            if user.is_active:
                group_roles.follow(user, grants)
        if user.is_active and not grants and not newcomers.may_stay(user, oidc.rules):
            raise ImmediateHttpResponse(refusals.without_group(request, user.username, extra["groups"]))
        provenance.keep(request, provenance.SignOn(oidc.name, _moment(extra["auth_time"]), oidc.second_factor))

    def _before_link(self, request: HttpRequest, known: User | None) -> None:
        if known and known != request.user:
            raise ImmediateHttpResponse(refusals.of_another(request, known))
        messages.success(
            request, _("Your account is linked: you can sign in with %(name)s.") % {"name": configured().name}
        )

    def _refuse_newcomer(self, request: HttpRequest, extra: dict[str, Any], grants: list[Grant]) -> None:
        """Refuse a name that somebody has or nobody can have, and people in none of the groups."""
        oidc, username = configured(), extra["username"]
        namesake = newcomers.namesake(username)
        if namesake and not oidc.link_by_name:
            raise ImmediateHttpResponse(refusals.name_taken(request, namesake.username))
        if not namesake and not grants and not oidc.rules.allow_all:
            raise ImmediateHttpResponse(refusals.without_group(request, username, extra["groups"]))
        if not namesake and not newcomers.is_valid(username):
            raise ImmediateHttpResponse(refusals.name_invalid(request, username))

    def _linked(self, request: HttpRequest, sociallogin: SocialLogin, grants: list[Grant]) -> User:
        """Link a new person, or the one of the same name where the settings say so."""
        username = sociallogin.account.extra_data["username"]
        user = newcomers.namesake(username)
        user = user or newcomers.create(username, sociallogin.user, has_grants=bool(grants))
        sociallogin.connect(request, user)
        return user

    def on_authentication_error(
        self,
        request: HttpRequest,
        provider: Provider,
        error: str = AuthError.UNKNOWN,
        exception: Exception | None = None,
        extra_context: dict[str, Any] | None = None,
    ) -> None:
        """Answer with the panel's own page in place of allauth's."""
        raise ImmediateHttpResponse(refusals.of_error(request, error, exception))


def _moment(auth_time: object) -> float | None:
    return float(auth_time) if isinstance(auth_time, int | float) else None
