"""Bearer tokens for the API."""

from django.contrib.auth.models import AbstractBaseUser
from django.utils.translation import gettext as _
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed, Throttled
from rest_framework.request import Request

from core.accounts import lockout
from core.accounts.models import ApiToken, digest


class TokenAuthentication(BaseAuthentication):
    """`Authorization: Bearer TOKEN`; without that header DRF tries the next authentication."""

    keyword = "Bearer"

    def authenticate(self, request: Request) -> tuple[AbstractBaseUser, ApiToken] | None:
        """Return the token's user and the token; 401 where it is unknown, expired, revoked or its user inactive.

        429 where one address sent more than `WRONG_TOKENS` such tokens within a minute.
        """
        words = get_authorization_header(request).decode("latin-1").split()
        if not words or words[0].lower() != self.keyword.lower():
            return None
        if len(words) != 2:
            raise AuthenticationFailed(_("the header must read: Authorization: Bearer TOKEN"))
        token = ApiToken.objects.usable().select_related("user", "team").filter(digest=digest(words[1])).first()
        if token is None:
            if wait_s := lockout.wrong_token_wait_s(request):
                raise Throttled(wait_s, _("too many wrong tokens came from your address"))
            raise AuthenticationFailed(_("the token is unknown, expired or revoked"))
        token.mark_used(request.META.get("REMOTE_ADDR") or "")
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        """Return the `WWW-Authenticate` challenge, with which DRF answers 401 instead of 403."""
        return self.keyword
