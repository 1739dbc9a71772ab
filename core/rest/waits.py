"""Views with `?wait=`: they answer at once, and the answer is held back until what they changed has settled."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial, wraps
from typing import Any, TypeVar

from asgiref.sync import async_to_sync, sync_to_async
from django.core.exceptions import PermissionDenied
from django.db.models import Model
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from rest_framework.exceptions import APIException
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from core.accounts import waits
from core.accounts.access import find
from core.accounts.credentials import as_if_new
from core.accounts.waits import Wait
from core.lib import wait_param
from core.lib.errors import DomainError

Row = TypeVar("Row", bound=Model)


class Waits(GenericViewSet[Row]):
    """A viewset whose answers can be held back."""

    _wait: Wait | None = None

    @classmethod
    def as_view(cls, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 (as the base says)
        """Return the view: it occupies a thread while it works, and none while it waits where the server allows it."""
        return _held_back(super().as_view(*args, **kwargs))

    @contextmanager
    def may_wait(self) -> Iterator[None]:
        """Count the request as one that waits, if it has `wait`; enter it before anything is saved.

        A wrong number raises `ValidationError`, and `TooManyHeld` says that nothing was done. An error inside gives the
        place back.
        """
        seconds = wait_param.seconds_of(self.request)
        if seconds:
            self._wait = Wait.begin(self.request, seconds)
        try:
            yield
        except BaseException:
            self._leave()
            raise

    def until(self, record: Model, is_settled: Callable[[], bool], answer: Callable[[], object]) -> None:
        """Hold the answer back until the record is settled, and send the body that `answer` returns then.

        Without `wait` it does nothing.
        """
        if self._wait:
            self._wait.until(is_settled, answer, partial(self._refusal_now, record))

    def _refusal_now(self, record: Model) -> Exception | None:
        """Return what this request would be refused with if it came now; the answer is made for its caller of now."""
        try:
            self.request = self.initialize_request(as_if_new(self.request._request), *self.args, **self.kwargs)
            self.perform_authentication(self.request)
            self.check_permissions(self.request)
            find(self.request, type(record)._default_manager.all(), pk=record.pk)
        except (APIException, PermissionDenied, Http404) as refusal:
            return refusal
        return None

    def _leave(self) -> None:
        if self._wait:
            self._wait.leave()

    def held_back(self, response: Response) -> Response:
        """Return the response for the server to hold back; where the server can't, once it may be sent."""
        if (wait := self._wait) is None or wait.answer is None:
            self._leave()
            return response
        request = self.request._request
        if waits.can_be_held_back(request):
            held = waits.HeldBack(request, wait, partial(self._for_caller_of_now, response, wait))
            response.held_back = held  # type: ignore[attr-defined]  # `panel.web.handler` finds it there
            return response
        try:
            async_to_sync(waits.settled)(wait, sync_to_async(waits.is_over))
            return self._as_it_is_now(response, wait)
        finally:
            wait.leave()

    def _for_caller_of_now(self, response: Response, wait: Wait) -> tuple[HttpRequest, Response]:
        found = self._as_it_is_now(response, wait)
        return self.request._request, found

    def _as_it_is_now(self, response: Response, wait: Wait) -> Response:
        """Return the response with the body as it is now; a refusal where the caller's access ended, or it is gone."""
        try:
            if wait.refusal:
                raise wait.refusal
            if wait.answer:
                response.data = wait.answer()
            return response
        except (APIException, DomainError, PermissionDenied, Http404) as error:
            refusal = self.handle_exception(error)
            return self.finalize_response(self.request, refusal)


def _held_back(view: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        response: HttpResponseBase = view(request, *args, **kwargs)
        view_of_response = getattr(response, "renderer_context", {}).get("view")
        return view_of_response.held_back(response) if view_of_response else response

    return answer
