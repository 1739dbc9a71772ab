"""What the environment says about sign-on. The settings import this module, so it knows no models."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

from core.lib import env

ADMINISTRATOR = "administrator"
ROLES = ("viewer", "developer", "operator", "owner")
DEFAULT_SCOPES = "openid profile email"
TOKEN_AUTH_METHODS = ("client_secret_basic", "client_secret_post")


class NotConfigured(LookupError):
    """The settings name nobody whose word counts."""


@dataclass(frozen=True)
class Grant:
    """What members of a group are: a role in the team of this name, or administrators where it names none."""

    group: str
    team: str = ""
    role: str = ""


@dataclass(frozen=True)
class GroupRules:
    """Which groups give what, and whether people in none of them may sign in."""

    grants: tuple[Grant, ...] = ()
    allow_all: bool = False

    def of(self, groups: frozenset[str]) -> list[Grant]:
        """Return what these groups give."""
        return [grant for grant in self.grants if grant.group in groups]


@dataclass(frozen=True, kw_only=True)
class Voucher:
    """Whose word on who somebody is counts, and how far."""

    name: str
    rules: GroupRules = GroupRules()
    link_by_name: bool = False
    second_factor: bool = False


@dataclass(frozen=True, kw_only=True)
class ProxyHeader(Voucher):
    """A proxy that names the person, and maybe their groups, in headers."""

    header: str
    groups_header: str = ""

    @property
    def headers(self) -> list[str]:
        """The headers that nobody else may send."""
        return [name for name in (self.header, self.groups_header) if name]

    @property
    def account_kind(self) -> str:
        """What people are linked to; under another header there are other people."""
        return f"header:{self.header.lower()}"


@dataclass(frozen=True, kw_only=True)
class OpenIDConnect(Voucher):
    """The provider: who it is, how the panel is known to it, and what is believed of it."""

    issuer: str
    client_id: str
    client_secret: str = field(default="", repr=False)
    name: str = "OpenID Connect"
    scopes: tuple[str, ...] = tuple(DEFAULT_SCOPES.split())
    username_claim: str = "preferred_username"
    groups_claim: str = "groups"
    token_auth_method: str = ""  # one of TOKEN_AUTH_METHODS; empty leaves it to the provider's description
    sign_out: bool = False  # whether who signs out here is led to sign out there too


def grants(raw: str) -> tuple[Grant, ...]:
    """Parse `GROUP=TEAM:ROLE; GROUP=administrator`. A semicolon separates, as names in a directory have commas."""
    return tuple(_grant(part.strip()) for part in raw.split(";") if part.strip())


def _grant(part: str) -> Grant:
    group, _equals, given = (word.strip() for word in part.rpartition("="))
    if group and given == ADMINISTRATOR:
        return Grant(group)
    team, _colon, role = (word.strip() for word in given.rpartition(":"))
    if not group or not team or role not in ROLES:
        raise ValueError(
            f"{part!r} is neither GROUP=TEAM:ROLE, with {', '.join(ROLES)} as roles, nor GROUP=administrator"
        )
    return Grant(group, team, role)


def openid_connect() -> OpenIDConnect | None:
    """Return the provider of POOLDECK_OIDC_ISSUER; None without one.

    Raises `ImproperlyConfigured` where the client's id is missing, or its secret's file can't be read.
    """
    issuer, client_id = env.read("POOLDECK_OIDC_ISSUER", "", env.web_address), env.text("POOLDECK_OIDC_CLIENT_ID")
    if bool(issuer) != bool(client_id):
        raise ImproperlyConfigured(
            "POOLDECK_OIDC_ISSUER and POOLDECK_OIDC_CLIENT_ID belong together: set both, or none"
        )
    if not issuer:
        return None
    return OpenIDConnect(
        issuer=issuer,
        client_id=client_id,
        client_secret=env.text("POOLDECK_OIDC_CLIENT_SECRET")
        or env.read("POOLDECK_OIDC_CLIENT_SECRET_FILE", "", _content),
        name=env.text("POOLDECK_OIDC_NAME", "OpenID Connect"),
        scopes=tuple(env.text("POOLDECK_OIDC_SCOPES", DEFAULT_SCOPES).replace(",", " ").split()),
        username_claim=env.text("POOLDECK_OIDC_USERNAME_CLAIM", "preferred_username"),
        groups_claim=env.text("POOLDECK_OIDC_GROUPS_CLAIM", "groups"),
        token_auth_method=env.read("POOLDECK_OIDC_TOKEN_AUTH_METHOD", "", _token_auth_method),
        rules=GroupRules(env.read("POOLDECK_OIDC_GROUPS", (), grants), env.flag("POOLDECK_OIDC_ALLOW_ALL")),
        link_by_name=env.flag("POOLDECK_OIDC_LINK_BY_NAME"),
        second_factor=env.flag("POOLDECK_OIDC_SECOND_FACTOR"),
        sign_out=env.flag("POOLDECK_OIDC_SIGN_OUT"),
    )


def proxy_header(trusted: Sequence[object]) -> ProxyHeader | None:
    """Return the header of POOLDECK_SIGN_ON_HEADER; None without one.

    Raises `ImproperlyConfigured` where no proxy is trusted: then anybody could send it, or nobody.
    """
    header = env.read("POOLDECK_SIGN_ON_HEADER", "", _header_name)
    if not header:
        return None
    if not trusted:
        raise ImproperlyConfigured(
            "POOLDECK_SIGN_ON_HEADER counts only from proxies in POOLDECK_TRUSTED_PROXIES: set that to its address"
        )
    return ProxyHeader(
        header=header,
        groups_header=env.read("POOLDECK_SIGN_ON_GROUPS_HEADER", "", _header_name),
        name=env.text("POOLDECK_SIGN_ON_NAME", "The proxy"),
        rules=GroupRules(env.read("POOLDECK_SIGN_ON_GROUPS", (), grants), env.flag("POOLDECK_SIGN_ON_ALLOW_ALL")),
        link_by_name=env.flag("POOLDECK_SIGN_ON_LINK_BY_NAME"),
        second_factor=env.flag("POOLDECK_SIGN_ON_SECOND_FACTOR"),
    )


def _header_name(raw: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9-]+", raw):
        raise ValueError("use letters, digits and hyphens, such as X-Remote-User")
    return raw


def _token_auth_method(raw: str) -> str:
    if raw not in TOKEN_AUTH_METHODS:
        raise ValueError(f"use {' or '.join(TOKEN_AUTH_METHODS)}")
    return raw


def _content(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError as error:
        raise ValueError(f"the file can't be read: {error.strerror}") from error
