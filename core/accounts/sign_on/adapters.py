"""Who may sign in by the provider, as whom, and what they are then: allauth asks this before each sign-in."""

from typing import Any

from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialApp, SocialLogin
from allauth.socialaccount.providers.base.constants import AuthError, AuthProcess
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _

from core.accounts.sign_on import admission, provenance, refusals, sign_out
from core.accounts.sign_on.admission import Description
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
        described = Description(extra["username"], extra["groups"], sociallogin.user)
        try:
            user = admission.admit(request, oidc, described, known, lambda user: sociallogin.connect(request, user))
        except admission.Refused as refused:
            raise ImmediateHttpResponse(refused.answer) from None
        sign_out.keep(request, user, getattr(request, "sign_on_id_token", ""))
        provenance.keep(request, provenance.SignOn(oidc.name, _moment(extra["auth_time"]), oidc.second_factor))

    def _before_link(self, request: HttpRequest, known: User | None) -> None:
        if known and known != request.user:
            raise ImmediateHttpResponse(refusals.of_another(request, known))
        messages.success(
            request, _("Your account is linked: you can sign in with %(name)s.") % {"name": configured().name}
        )

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
