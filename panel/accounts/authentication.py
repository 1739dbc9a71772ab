"""Bearer tokens for the API."""

from django.contrib.auth.models import AbstractBaseUser
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed, Throttled
from rest_framework.request import Request

from panel.accounts import lockout
from panel.accounts.models import ApiToken, digest


class TokenAuthentication(BaseAuthentication):
    """`Authorization: Bearer TOKEN`; without that header the next authentication is asked."""

    keyword = "Bearer"

    def authenticate(self, request: Request) -> tuple[AbstractBaseUser, ApiToken] | None:
        """The token's user and the token; 401 where it is unknown, expired, revoked or its user inactive.

        429 where too many such tokens came from one address.
        """
        words = get_authorization_header(request).decode("latin-1").split()
        if not words or words[0].lower() != self.keyword.lower():
            return None
        if len(words) != 2:
            raise AuthenticationFailed("the header must read: Authorization: Bearer TOKEN")
        token = ApiToken.objects.usable().select_related("user").filter(digest=digest(words[1])).first()
        if token is None or not token.user.is_active:
            if wait_s := lockout.wrong_token_wait_s(request):
                raise Throttled(wait_s, "too many wrong tokens came from your address")
            raise AuthenticationFailed("the token is unknown, expired or revoked")
        token.mark_used()
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        """What makes a missing login a 401 rather than a 403."""
        return self.keyword
