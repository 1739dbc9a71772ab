"""Middleware: what a request does is recorded for its person or token, its address and the reason that was given."""

from collections.abc import Callable
from typing import Any

from django.contrib.messages import ERROR
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from core.accounts import reasons
from core.accounts.models import ApiToken
from core.audit.actors import Actor, Origin, acting
from core.audit.acts import subject_with
from core.audit.models import ActorKind
from core.audit.recording import record

SAFE = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
NOBODY = Actor(ActorKind.NOBODY, "nobody")
BY_METHOD = {"POST": "create", "PUT": "change", "PATCH": "change", "DELETE": "delete"}
# Addresses that take POST and change nothing: they look, preview or choose, or are recorded by what they reveal.
UNRECORDED = frozenset(
    {
        "api-entry-clients",
        "api-entry-mode-check",
        "api-pool-clients",
        "api-pool-mode-check",
        "cluster-connection",
        "dataset-facts",
        "entry-clients",
        "entry-condition",
        "entry-connection",
        "entry-mode-check",
        "login",
        "logout",
        "pool-choices",
        "pool-clients",
        "pool-condition",
        "pool-connection",
        "pool-further",
        "pool-mode-check",
        "pooler-paste-line",
        "profile-propose",
        "run-preview",
        "wish-mode-check",
    }
)
# Pages that do what they were asked for and show at once what came of it; all others lead on to another page.
ANSWERING_AT_ONCE = frozenset({"entry-logins", "pool-logins"})


class RequestOrigin(Origin):
    """A request as the origin of acts; who it is from is asked when something is recorded, after authentication."""

    def __init__(self, request: HttpRequest) -> None:
        super().__init__(NOBODY, source=request.META.get("REMOTE_ADDR") or "")
        self._request = request

    def who(self) -> Actor:
        """Return the token, else the person who is signed in; DRF leaves both on Django's request."""
        token, user = getattr(self._request, "auth", None), getattr(self._request, "user", None)
        if isinstance(token, ApiToken):
            return Actor(ActorKind.TOKEN, f"{token.holder}: {token.name}", str(token.pk))
        if user is None or not user.is_authenticated:
            return NOBODY
        return Actor(ActorKind.PERSON, user.get_username(), str(user.pk))

    @property
    def reason(self) -> str:
        """The sentence that was set, as for what was approved, else that of the form or of the header."""
        return self._reason or reasons.given(self._request)

    @reason.setter
    def reason(self, text: str) -> None:
        """Let acts be recorded with this reason; an empty one is that of the request."""
        self._reason = text


def audit_origin(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    """Record what a request does, and the request itself where nothing else recorded what it did."""

    def answer(request: HttpRequest) -> HttpResponseBase:
        with acting(RequestOrigin(request)) as origin:
            response: HttpResponseBase = get_response(request)
            if _is_unrecorded(request, response, origin):
                record_request(request)
        return response

    return answer


def _is_unrecorded(request: HttpRequest, response: HttpResponseBase, origin: Origin) -> bool:
    is_question = getattr(response, reasons.IS_QUESTION, False)
    if request.method in SAFE or response.status_code >= 400 or is_question or origin.recorded:
        return False
    if request.resolver_match is None:
        return False
    return request.resolver_match.view_name not in UNRECORDED and not _is_form_shown_again(request, response)


def _is_form_shown_again(request: HttpRequest, response: HttpResponseBase) -> bool:
    """Tell whether a page answers with itself: what was sent can't be done as it is, and nothing was."""
    match = request.resolver_match
    if match is None or getattr(match.func, "cls", None) is not None:
        return False
    return response.status_code == 200 and match.view_name not in ANSWERING_AT_ONCE


def record_request(request: HttpRequest) -> None:
    """Record a request by the name of its address, such as `pooler.check` for `pooler-check`."""
    match = request.resolver_match
    name, pk = (
        (match.view_name.removeprefix("api-"), match.kwargs.get("pk") or match.kwargs.get("name"))
        if match
        else ("", None)
    )
    kind, _dash, verb = name.strip("-").rpartition("-")
    verb = BY_METHOD.get(request.method or "", verb) if verb in ("list", "detail") else verb
    kind = kind.replace("-", "_")
    record(f"{kind}.{verb}", subject_with(kind, pk), after={"path": request.path}, outcome=_refusal(request))


def _refusal(request: HttpRequest) -> str:
    """Return why it was not done, where the next page is going to tell that; else empty."""
    queued = getattr(getattr(request, "_messages", None), "_queued_messages", [])
    errors = [str(one.message) for one in queued if one.level >= ERROR]
    return f"failed: {errors[0]}" if errors else ""
