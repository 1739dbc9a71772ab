"""Requests by HTTPS to addresses that were judged before (SSRF), for libraries that make theirs with `requests`.

A name is resolved once, each of its addresses is judged by `core.lib.addresses`, and the connection goes to one of
these: a name server that answers otherwise a moment later leads nowhere else. No redirect, proxy or netrc is followed,
and the certificate is always verified, by the system's certificates.
"""

import os
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

import requests
from django.utils.translation import gettext as _
from requests.adapters import HTTPAdapter
from urllib3 import HTTPSConnectionPool
from urllib3.connection import HTTPSConnection
from urllib3.exceptions import ConnectTimeoutError, HTTPError, NewConnectionError

from core.lib import addresses

ANSWER_WITHIN_S = 10  # each piece of an answer
OVER_WITHIN_S = 30.0  # the whole of it
READ_AT_MOST = 64 * 1024  # bytes of an answer
SHOWN_CHARACTERS = 200  # of an answer, where it is a reason
VERBS = ("get", "options", "head", "post", "put", "patch", "delete")

_answers: ContextVar[list[str] | None] = ContextVar("answers", default=None)
_limit: ContextVar["TimeLimit | None"] = ContextVar("limit", default=None)


class Refused(requests.RequestException):
    """Nothing may connect to the host of a request; the text is a sentence for people."""


class TimeLimit:
    """Shuts the connections of a request down once its time is over, however slowly the pieces of an answer come."""

    def __init__(self, seconds: float) -> None:
        self.is_over = False
        self.connections: list[socket.socket] = []
        self.timer = threading.Timer(seconds, self.end)
        self.timer.daemon = True

    def add(self, connection: socket.socket) -> None:
        """Hold this connection to the time, by a duplicate: TLS detaches the original."""
        self.connections.append(socket.socket(fileno=os.dup(connection.fileno())))
        if self.is_over:
            self.end()

    def end(self) -> None:
        """Shut all of them down."""
        self.is_over = True
        for connection in self.connections:
            with suppress(OSError):  # the other side was quicker
                connection.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> "TimeLimit":
        self.token = _limit.set(self)
        self.timer.start()
        return self

    def __exit__(self, *_error: object) -> None:
        _limit.reset(self.token)
        self.timer.cancel()
        self.timer.join()
        for connection in self.connections:
            connection.close()


class BoundedConnection(HTTPSConnection):
    """A connection that is held to the time of its request."""

    def _new_conn(self) -> socket.socket:
        connected = super()._new_conn()
        if limit := _limit.get():
            limit.add(connected)
        return connected


class BoundedPool(HTTPSConnectionPool):
    """A pool of such connections."""

    ConnectionCls = BoundedConnection


class JudgedAdapter(HTTPAdapter):
    """Connects to an address that was judged; the request and its TLS still name the host."""

    address = ""

    def init_poolmanager(self, *words: Any, **options: Any) -> None:
        """Take connections that end in time."""
        super().init_poolmanager(*words, **options)
        self.poolmanager.pool_classes_by_scheme = {"https": BoundedPool}

    def send(self, request: requests.PreparedRequest, *words: Any, **options: Any) -> requests.Response:
        """Send a request to the first judged address that takes the connection. Raises `Refused`."""
        *others, last = _judged_addresses(request)
        for self.address in others:
            try:
                return super().send(request, *words, **options)
            except requests.ConnectionError as error:
                if not _was_not_sent(error):
                    raise
        self.address = last
        return super().send(request, *words, **options)

    def build_connection_pool_key_attributes(
        self,
        request: requests.PreparedRequest,
        verify: bool | str,
        cert: Any = None,  # noqa: ANN401 (the base class decides)
    ) -> tuple[Any, Any]:
        """Return the judged address as what to connect to, and the host as what its certificate has to name."""
        parts = urlsplit(str(request.url))
        context = ssl.create_default_context()
        place = {"scheme": "https", "host": self.address, "port": parts.port or 443}
        return place, {"ssl_context": context, "server_hostname": parts.hostname, "assert_hostname": parts.hostname}

    def cert_verify(self, *words: Any, **options: Any) -> None:
        """Leave the context as it is: it verifies, whatever the caller asked for."""

    def add_headers(self, request: requests.PreparedRequest, **options: Any) -> None:
        """Name the host, where `http.client` would name the address; each request has a connection of its own."""
        parts = urlsplit(str(request.url))
        request.headers["Connection"] = "close"
        request.headers["Host"] = parts.netloc.rpartition("@")[2]


class JudgedSession(requests.Session):
    """A session whose requests go by HTTPS to judged addresses alone."""

    def __init__(self) -> None:
        super().__init__()
        self.trust_env = False
        self.adapters.clear()
        self.mount("https://", JudgedAdapter())

    def get_redirect_target(self, resp: requests.Response) -> None:
        """Return None, so that a redirect is an answer like any other."""

    def send(self, request: requests.PreparedRequest, **options: Any) -> requests.Response:
        """Send a request within the time and without redirects, whatever the caller asked for."""
        options |= {"allow_redirects": False, "timeout": ANSWER_WITHIN_S, "stream": True, "proxies": {}}
        try:
            with TimeLimit(OVER_WITHIN_S) as limit:
                response = super().send(request, **options)
                response._content = _start_of(response)
            if limit.is_over:  # the end of a connection ends many an answer
                response.close()
                raise requests.ConnectionError
        except requests.exceptions.InvalidSchema:
            _note(_("only addresses that begin with https:// are requested"))
            raise
        except requests.RequestException as error:
            _note(_reason(error))
            raise
        response.close()
        _note(f"{response.status_code} {response.text[:SHOWN_CHARACTERS]}".strip())
        return response


def _start_of(response: requests.Response) -> bytes:
    """Read the start of an answer; the rest is never read."""
    try:
        return bytes(response.raw.read(READ_AT_MOST, decode_content=True))
    except HTTPError as error:
        response.close()
        raise requests.ConnectionError(error) from error


@contextmanager
def noted() -> Iterator[list[str]]:
    """Collect what became of each request of the block, in this thread: status and text, or why there is none."""
    answers: list[str] = []
    token = _answers.set(answers)
    try:
        yield answers
    finally:
        _answers.reset(token)


def confine(module: ModuleType) -> None:
    """Let a module that says `import requests` make its requests by `JudgedSession` alone; idempotent."""
    confined = ModuleType("requests")
    vars(confined).update(vars(requests))
    named = {verb: _verb(verb) for verb in VERBS}
    vars(confined).update(named, Session=JudgedSession, session=JudgedSession, request=_request)
    module.requests = confined  # type: ignore[attr-defined]


def _verb(verb: str) -> Any:  # noqa: ANN401 (a function with the options of requests.request)
    def request(url: str, *words: Any, **options: Any) -> requests.Response:
        named = dict(zip(("data", "json") if verb == "post" else ("params",), words, strict=False))
        return _request(verb, url, **named, **options)

    return request


def _request(method: str, url: str, **options: Any) -> requests.Response:
    with JudgedSession() as session:
        return session.request(method, url, **options)


def _judged_addresses(request: requests.PreparedRequest) -> list[str]:
    """Return the addresses of a request's host, all of which are allowed. Raises `Refused`."""
    parts = urlsplit(str(request.url))
    host, port = parts.hostname or "", parts.port or addresses.PORTS["https"]
    try:
        found = addresses.resolve(host, port)
    except OSError as error:
        words = {"host": host, "reason": error.strerror or error}
        raise Refused(_("%(host)s can't be resolved: %(reason)s") % words) from error
    if sentence := addresses.refusal_of(host, port, found, database=True):
        raise Refused(sentence)
    return found


def _was_not_sent(error: requests.ConnectionError) -> bool:
    """Tell whether nothing was sent, so that another address may be tried."""
    reason = getattr(error.args[0] if error.args else None, "reason", None)
    return isinstance(reason, NewConnectionError | ConnectTimeoutError)


def _reason(error: requests.RequestException) -> str:
    """Return why there is no answer, without the address: its path may be a secret."""
    if isinstance(error, Refused):
        return str(error)
    if isinstance(error, requests.Timeout):
        return _("no answer within %(seconds)s s") % {"seconds": ANSWER_WITHIN_S}
    if isinstance(error, requests.exceptions.SSLError):
        return _("its certificate is not one of the host, or is signed by nobody whom this machine trusts")
    if isinstance(error, requests.ConnectionError) and _was_not_sent(error):
        return _("nothing there takes the connection")
    return _("the connection ended without an answer")


def _note(answer: str) -> None:
    if (answers := _answers.get()) is not None:
        answers.append(answer)
