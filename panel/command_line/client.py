"""The panel as its client sees it: a login, requests over HTTP, and records by their names."""

import json
import os
import ssl
import string
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from http.client import HTTPMessage
from pathlib import Path
from typing import IO, Any

import click

from .records import AnyRecord, Pool, Team

WAIT_S = 30
TIMEOUT_S = 60 + 30  # the longest `?wait=` of the API, and what an answer takes
FAILED = 2


class ApiError(click.ClickException):
    """The panel refused, or does not answer.

    `status` is the one of HTTP, 0 without an answer; `retry_after_s` is set where the panel is only too busy.
    """

    exit_code = FAILED
    status = 0
    retry_after_s = 0


@dataclass(frozen=True)
class Login:
    """The panel's URL, the token, and the certificate authority to trust (empty: the system's)."""

    url: str
    token: str
    cacert: str = ""

    @staticmethod
    def path() -> Path:
        """Return the file that `login` writes."""
        folder = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
        return Path(folder) / "pooldeck" / "login.json"

    @classmethod
    def read(cls) -> "Login":
        """Return the stored login; POOLDECK_URL, POOLDECK_TOKEN and POOLDECK_CACERT come first."""
        path = cls.path()
        stored = json.loads(path.read_text()) if path.exists() else {}
        names = {"url": "POOLDECK_URL", "token": "POOLDECK_TOKEN", "cacert": "POOLDECK_CACERT"}
        found = {name: os.environ.get(variable) or stored.get(name, "") for name, variable in names.items()}
        if not (found["url"] and found["token"]):
            raise ApiError("No login: run `pooldeck login URL`, or set POOLDECK_URL and POOLDECK_TOKEN.")
        return cls(**found)

    def write(self) -> Path:
        """Store it where only its owner can read it."""
        path = self.path()
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.unlink(missing_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            json.dump({"url": self.url, "token": self.token, "cacert": self.cacert}, file)
        return path


class NoRedirects(urllib.request.HTTPRedirectHandler):
    """Leaves redirects to the caller: urllib would send the token along to any host, and a POST as a GET."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> None:
        """Follow none, so that the answer itself becomes an `HTTPError`."""


class Api:
    """`/api/v1/` of a panel; raises `ApiError` with the panel's own words."""

    def __init__(self, login: Login) -> None:
        self.login = login
        tls = ssl.create_default_context(cafile=login.cacert or None)
        self.opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=tls), NoRedirects)

    def get(self, path: str, **query: object) -> Any:  # noqa: ANN401 (JSON; who asks knows its record)
        """GET; `query` becomes the query string, without what is empty."""
        parameters = {name: value for name, value in query.items() if value not in ("", None)}
        return self._json("GET", f"{path}?{urllib.parse.urlencode(parameters)}" if parameters else path)

    def waited_for(self, path: str) -> Any:  # noqa: ANN401 (as `get`)
        """GET once it has settled, or after `WAIT_S`; poll instead while the panel has no place for one who waits."""
        try:
            return self.get(path, wait=WAIT_S)
        except ApiError as error:
            if not error.retry_after_s:
                raise
            time.sleep(error.retry_after_s)
            return self.get(path)

    def post(self, path: str, body: Mapping[str, object]) -> Any:  # noqa: ANN401 (as `get`)
        """Send JSON by POST and return the answer."""
        return self._json("POST", path, json.dumps(body).encode())

    def listed(self, path: str, **query: object) -> Iterator[Any]:
        """Yield the records of a list, page by page; who asks knows which they are."""
        page = 1
        while True:
            found = self.get(path, page=page, page_size=200, **query)
            yield from found["results"]
            if not found["next"]:
                return
            page += 1

    def send(self, method: str, path: str, body: bytes | None = None, reason: str = "") -> bytes:
        """Send a request with a body of JSON, and return the body of the answer.

        A path that begins with / is one of the panel, such as /metrics; any other is one of /api/v1/. The reason is for
        the audit trail.
        """
        headers = {"Authorization": f"Bearer {self.login.token}", "Content-Type": "application/json"}
        if reason:
            headers["X-Reason"] = " ".join(reason.split()).encode().decode("latin-1")  # the panel reads UTF-8
        request = urllib.request.Request(self._url(path), body, headers, method=method)  # noqa: S310 (the reader's own panel)
        try:
            with self.opener.open(request, timeout=TIMEOUT_S) as answer:
                return bytes(answer.read())
        except urllib.error.HTTPError as error:
            raise _refusal(f"{method} {path}", error) from None
        except (OSError, ValueError) as error:
            raise self._unanswered(error) from None

    def _url(self, path: str) -> str:
        below = path if path.startswith("/") else f"/api/v1/{path}"
        return self.login.url.rstrip("/") + urllib.parse.quote(below, safe=string.punctuation)

    def _json(self, method: str, path: str, body: bytes | None = None) -> Any:  # noqa: ANN401 (as `get`)
        try:
            return json.loads(self.send(method, path, body))
        except ValueError as error:
            raise self._unanswered(error) from None

    def _unanswered(self, error: Exception) -> ApiError:
        return ApiError(f"{self.login.url} does not answer as a panel does: {error}")


def _refusal(request: str, error: urllib.error.HTTPError) -> ApiError:
    if location := error.headers.get("Location"):
        reason = f"the panel redirects to {location}: use that address itself"
    else:
        reason = _reason(error.read())
    refused = ApiError(f"{request}: {error.code}: {reason}")
    refused.status = error.code
    refused.retry_after_s = int(error.headers.get("Retry-After") or 0) if error.code == 503 else 0
    return refused


def _reason(body: bytes) -> str:
    """Return an error's sentences: of `detail`, or of each field."""
    try:
        found = json.loads(body)
    except ValueError:
        return body[:200].decode(errors="replace")
    if isinstance(found, dict) and set(found) == {"detail"}:
        return str(found["detail"])
    return json.dumps(found, ensure_ascii=False)


def pool_named(api: Api, name: str) -> Pool:
    """Return the pool of that name or id."""
    pools: Iterator[Pool] = api.listed("pools/")
    return only("pool", name, pools, "; `pooldeck pools --json` lists them")


def team_named(api: Api, name: str) -> Team:
    """Return the team of that name or id."""
    teams: Iterator[Team] = api.listed("teams/")
    return only("team", name, teams, "; `pooldeck api GET teams/` lists them")


def only(kind: str, asked: str, listed: Iterable[AnyRecord], hint: str = "") -> AnyRecord:
    """Return the record of that name, number or id; raise `ApiError` where there is none, or more than one."""
    found = [one for one in listed if asked in (one.get("name"), str(one.get("number")), one["id"])]
    if len(found) != 1:
        why = f"Several {kind}s are named {asked}: use the id" if found else f"There is no {kind} {asked}"
        raise ApiError(f"{why}{hint}.")
    return found[0]
