"""Limits for failed logins (by name and address together, by address, by name) and for wrong tokens."""

import copy
from collections.abc import Mapping

from axes.attempts import get_cool_off_threshold
from axes.handlers.database import AxesDatabaseHandler
from axes.handlers.proxy import AxesProxyHandler
from axes.helpers import get_client_username, get_failure_limit, get_lockout_response
from axes.models import AccessAttempt, AccessLog
from django.conf import settings
from django.contrib.auth import user_login_failed
from django.core.cache import cache
from django.db.models import Model, QuerySet, Sum
from django.http import HttpRequest, HttpResponse, QueryDict

from core.lib import redis_client

UNKNOWN = "unknown"  # a request through a Unix socket has no address


class AxesRequest(HttpRequest):
    """A request as axes leaves it."""

    axes_ip_address: str | None
    axes_locked_out: bool
    axes_credentials: dict[str, object]


class LoginLimits(AxesDatabaseHandler):  # type: ignore[misc]  # axes carries no types
    """Axes' limit by name and address, and two wider limits: by address over all names, by name over all addresses.

    A locked name can still log in from addresses that it has logged in from before, so that nobody can lock its owner
    out by failing on purpose.
    """

    def get_failures(self, request: AxesRequest, credentials: Mapping[str, object] | None = None) -> int:
        """Return the failures that count against this login; at least the limit where a wider limit is reached."""
        own: int = super().get_failures(request, credentials)
        limit: int = get_failure_limit(request, credentials)
        return max(own, limit) if self._is_locked_widely(request, get_client_username(request, credentials)) else own

    def user_login_failed(
        self, sender: object, credentials: dict[str, object], request: AxesRequest | None = None, **kwargs: object
    ) -> None:
        """Record a failure without what was sent: forms that ask for one's own password also hold others."""
        if request is None:  # nobody to count it for: a command checks a password
            return
        bare = copy.copy(request)
        bare.GET = bare.POST = QueryDict()
        super().user_login_failed(sender, credentials, bare, **kwargs)
        if getattr(bare, "axes_locked_out", False):
            request.axes_locked_out, request.axes_credentials = True, bare.axes_credentials

    def _is_locked_widely(self, request: AxesRequest, name: str | None) -> bool:
        recent = AccessAttempt.objects.filter(attempt_time__gt=get_cool_off_threshold(request))
        address = request.axes_ip_address
        if _failures(recent.filter(ip_address=address)) >= settings.LOGIN_FAILURES_BY_ADDRESS:
            return True
        return (
            _failures(recent.filter(username=name)) >= settings.LOGIN_FAILURES_BY_NAME
            and not AccessLog.objects.filter(username=name, ip_address=address).exists()
        )


def _failures(attempts: QuerySet[Model]) -> int:
    return attempts.aggregate(total=Sum("failures_since_start"))["total"] or 0


def refusal(request: HttpRequest, name: str) -> HttpResponse | None:
    """Return the page that says to wait where logins with this name are locked from this address; None where not."""
    credentials = {"username": name}
    if AxesProxyHandler.is_allowed(request, credentials):
        return None
    answer: HttpResponse = get_lockout_response(request, credentials=credentials)
    return answer


def count_failure(request: HttpRequest, name: str) -> None:
    """Count a wrong code or passkey as a wrong password of this name counts."""
    user_login_failed.send(sender=__name__, credentials={"username": name}, request=request)


def wrong_token_wait_s(request: HttpRequest) -> int | None:
    """Count a wrong token of this address; return None while it may try again, else the seconds it has to wait.

    Valid tokens are never refused. Nobody can guess 256 random bits, so the limit only protects the database and the
    log, and an address that many users share keeps working. Nothing is counted while Redis is away.
    """
    key = f"wrong-tokens:{request.META.get('REMOTE_ADDR') or UNKNOWN}"
    try:
        cache.add(key, 0, settings.WRONG_TOKENS_WINDOW_S)
        count = cache.incr(key)
    except (ValueError, *redis_client.ERRORS):  # ValueError: its window ended between both calls
        return None
    return settings.WRONG_TOKENS_WINDOW_S if count > settings.WRONG_TOKENS else None
