"""What is known of a session that somebody else vouched for: when they asked, and what their word counts for."""

import time
from dataclasses import dataclass

from django.conf import settings
from django.http import HttpRequest

SECOND_FACTOR_PROVED = "sign_on_second_factor"


@dataclass(frozen=True)
class SignOn:
    """A sign-on, kept with the request that ends it."""

    name: str  # of the provider
    auth_time: float | None  # when the person proved to it who they are, if it says so
    second_factor: bool  # whether the provider's own counts


def of(request: HttpRequest) -> SignOn | None:
    """Return the sign-on that this request ends; None for a login by password or passkey."""
    found: SignOn | None = getattr(request, "sign_on", None)
    return found


def keep(request: HttpRequest, sign_on: SignOn) -> None:
    """Note the sign-on with its request, for what the login asks next."""
    request.sign_on = sign_on  # type: ignore[attr-defined]


def proved_recently(request: HttpRequest, holds_for_s: int) -> bool:
    """Tell whether this login proves who it is now; a provider may remember one of this morning."""
    sign_on = of(request)
    return sign_on is None or sign_on.auth_time is None or time.time() - sign_on.auth_time < holds_for_s


def needs_no_second_factor(request: HttpRequest | None) -> bool:
    """Tell whether this login is by a provider whose own second factor counts."""
    sign_on = of(request) if request is not None else None
    return sign_on is not None and sign_on.second_factor


def note_second_factor(request: HttpRequest) -> None:
    """Remember in the session that the provider asked for a second factor."""
    sign_on = of(request)
    if sign_on is not None and sign_on.second_factor:
        request.session[SECOND_FACTOR_PROVED] = sign_on.name


def has_second_factor(request: HttpRequest) -> bool:
    """Tell whether the provider asked for one, and that still counts."""
    vouchers = [voucher for voucher in (settings.OIDC, settings.SIGN_ON_HEADER) if voucher]
    return request.session.get(SECOND_FACTOR_PROVED) in [one.name for one in vouchers if one.second_factor]
