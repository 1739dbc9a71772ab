"""The OpenID Connect provider of the settings, as allauth sees it, with the checks of an ID token.

allauth asks the provider, keeps the state and does PKCE. Here are the nonce, which it does not know, and the signature
and the issuer of each ID token, which it takes on trust from the provider's own answer.
"""

import hmac
from functools import cached_property
from typing import Any

import jwt
from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.models import SocialApp, SocialLogin, SocialToken
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse

from core.accounts.sign_on.configuration import NotConfigured, OpenIDConnect

SIGNATURES = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
DESCRIBED = {"issuer", "authorization_endpoint", "token_endpoint", "jwks_uri"}
REQUIRED = ["iss", "sub", "aud", "exp", "iat"]
CLOCKS_DIFFER_S = 60
Claims = dict[str, Any]


def configured() -> OpenIDConnect:
    """Return the provider of the settings; raises `NotConfigured`."""
    found: OpenIDConnect | None = settings.OIDC
    if found is None:
        raise NotConfigured
    return found


def app() -> SocialApp:
    """Return the provider as allauth stores one. Accounts are known by the issuer too: another has other people."""
    oidc = configured()
    options = {"server_url": oidc.issuer, "oauth_pkce_enabled": True, "scope": list(oidc.scopes)}
    options["token_auth_method"] = oidc.token_auth_method
    return SocialApp(
        provider="openid_connect",
        provider_id=oidc.issuer,
        name=oidc.name,
        client_id=oidc.client_id,
        secret=oidc.client_secret,
        settings=options,
    )


class ProviderAdapter(OpenIDConnectOAuth2Adapter):  # type: ignore[misc]  # allauth carries no types
    """Asks the provider, and believes only what its ID token proves."""

    expected_nonce = ""

    def __init__(self, request: HttpRequest) -> None:
        super().__init__(request, configured().issuer)

    @cached_property
    def openid_config(self) -> Claims:
        """The provider's own description. Raises `OAuth2Error` where it is none, or that of another."""
        with get_adapter().get_requests_session() as session:
            answer = session.get(self.get_provider().server_url)
            answer.raise_for_status()
        found = answer.json()
        if not isinstance(found, dict) or not found.keys() >= DESCRIBED:
            raise OAuth2Error("its description lacks what OpenID Connect Discovery requires")
        if found["issuer"].rstrip("/") != configured().issuer:
            raise OAuth2Error(f"it calls itself {found['issuer']}: set POOLDECK_OIDC_ISSUER to that")
        return found

    def get_callback_url(self, request: HttpRequest, app: SocialApp) -> str:
        """Return the address to which the provider leads back."""
        return request.build_absolute_uri(reverse("sign-on-callback"))

    def complete_login(self, request: HttpRequest, app: SocialApp, token: SocialToken, **words: Any) -> SocialLogin:
        """Return whom the ID token names. Raises `OAuth2Error` for one that is not good."""
        id_token = str(words["response"].get("id_token") or "")
        claims, oidc = self._verified(id_token), configured()
        request.sign_on_id_token = id_token  # type: ignore[attr-defined]  # for `sign_out`
        if not {oidc.groups_claim, oidc.username_claim} <= claims.keys() and "userinfo_endpoint" in self.openid_config:
            claims = self._userinfo(token.token, claims["sub"]) | claims
        return self.get_provider().sociallogin_from_response(request, claims)

    def _verified(self, id_token: str) -> Claims:
        oidc = configured()
        try:
            claims: Claims = jwt.decode(
                id_token,
                self._key_of(id_token),
                algorithms=SIGNATURES,
                audience=oidc.client_id,
                issuer=self.openid_config["issuer"],
                leeway=CLOCKS_DIFFER_S,
                options={"require": REQUIRED},
            )
        except jwt.PyJWTError as error:
            raise OAuth2Error(f"its ID token is not good: {error}") from error
        if not self.expected_nonce or not hmac.compare_digest(str(claims.get("nonce")), self.expected_nonce):
            raise OAuth2Error("its ID token is for another sign-in: the nonce differs")
        if claims.get("azp", oidc.client_id) != oidc.client_id:
            raise OAuth2Error("its ID token is for another client")
        return claims

    def _key_of(self, id_token: str) -> jwt.PyJWK:
        """Return the provider's key that signed the token; without a key id, its only one.

        A key need not say for which algorithm it is (RFC 7517, section 4.4): then the token says it.
        """
        header = jwt.get_unverified_header(id_token)
        wanted, algorithm = header.get("kid"), header.get("alg")
        if algorithm not in SIGNATURES:
            raise jwt.InvalidAlgorithmError(f"it is signed by {algorithm}")
        fitting = [key for key in self._keys() if wanted in (None, key.get("kid")) and key.get("use") != "enc"]
        if len(fitting) != 1:
            raise jwt.PyJWTError(f"the provider has {len(fitting)} keys that may have signed it")
        return jwt.PyJWK(fitting[0], fitting[0].get("alg") or algorithm)

    def _keys(self) -> list[dict[str, Any]]:
        """Return the keys that the provider publishes now. Raises `OAuth2Error` where it publishes something else."""
        with get_adapter().get_requests_session() as session:
            answer = session.get(self.openid_config["jwks_uri"])
            answer.raise_for_status()
        found = answer.json()
        keys = found.get("keys") if isinstance(found, dict) else None
        if not isinstance(keys, list) or not all(isinstance(key, dict) for key in keys):
            raise OAuth2Error("what it publishes as its keys is not a JSON Web Key Set")
        return keys

    def _userinfo(self, access_token: str, subject: str) -> Claims:
        found: Claims = self._fetch_user_info(access_token)
        if found.get("sub") != subject:
            raise OAuth2Error("it describes another person than its ID token")
        return found


class Provider(OpenIDConnectProvider):  # type: ignore[misc]
    """What is kept of the claims: nothing of it is a token."""

    oauth2_adapter_class = ProviderAdapter

    def get_oauth2_adapter(self, request: HttpRequest) -> ProviderAdapter:
        """Return the adapter that asks this provider."""
        return ProviderAdapter(request)

    def extract_uid(self, data: Claims) -> str:
        """Return the provider's own id of the person, which it never gives to another."""
        return str(data["sub"])

    def extract_extra_data(self, data: Claims) -> Claims:
        """Return the user name and the groups as the provider has them, and when it last asked who they are."""
        groups = data.get(configured().groups_claim) or []
        return {
            "username": _username(data),
            "groups": sorted(map(str, groups)) if isinstance(groups, list) else [str(groups)],
            "auth_time": data.get("auth_time"),
        }

    def extract_email_addresses(self, data: Claims) -> list[object]:
        """Return none: allauth looks for accounts by address, which proves nothing here."""
        return []


def _username(claims: Claims) -> str:
    names = (claims.get(configured().username_claim), claims.get("email"), claims["sub"])
    return str(next(name for name in names if name)).strip()
