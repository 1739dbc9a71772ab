"""Sign-out at the provider too, where the settings ask for it: OpenID Connect RP-Initiated Logout 1.0.

Whoever signs out here is led to the provider's own page, which ends the session there and leads back to the login. The
ID token of the sign-on tells the provider whose session is meant. The session keeps it sealed, and only for this.
"""

from urllib.parse import urlencode, urlsplit

from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpRequest
from django.urls import reverse

from core.accounts.sign_on.openid_connect import ProviderAdapter, configured
from core.lib import crypto

KEPT = "sign_on_id_token"
OWNER = "session"  # the session's own key changes at the login
LONGEST_HINT = 4000  # characters; servers refuse addresses of more than 8 KB, and the groups of a token may be many


def keep(request: HttpRequest, user: User, id_token: str) -> None:
    """Keep the ID token of a sign-on in the session, sealed, where it is needed later."""
    if settings.OIDC and settings.OIDC.sign_out:
        request.session[KEPT] = [user.pk, crypto.seal(id_token, OWNER)]


def hint(request: HttpRequest) -> str | None:
    """Return the ID token of the session's sign-on; None for a session that did not begin at the provider.

    It is empty where it can't be given: no key of the panel opens it any more, or it is too long for an address.
    """
    kept = request.session.get(KEPT)
    if not (settings.OIDC and settings.OIDC.sign_out and kept and kept[0] == request.user.pk):
        return None
    try:
        token = crypto.unseal(kept[1], OWNER)
    except crypto.SealBroken:
        return ""
    return token if len(token) <= LONGEST_HINT else ""


def address(request: HttpRequest, token: str) -> str:
    """Return the provider's address at which this session ends there; empty where it describes none.

    Raises what asking the provider raises; see `pages.UNREACHABLE`.
    """
    endpoint = str(ProviderAdapter(request).openid_config.get("end_session_endpoint") or "")
    if urlsplit(endpoint).scheme not in ("https", "http"):
        return ""
    asked = {"id_token_hint": token} if token else {}
    asked["client_id"] = configured().client_id
    asked["post_logout_redirect_uri"] = request.build_absolute_uri(reverse("login"))
    return f"{endpoint}{'&' if urlsplit(endpoint).query else '?'}{urlencode(asked)}"
