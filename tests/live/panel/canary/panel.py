"""A person's browser and a program's token, which read everything that the panel answers."""

import html
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from http.cookiejar import CookieJar
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urldefrag, urlencode, urljoin, urlsplit
from urllib.request import HTTPCookieProcessor, OpenerDirector, Request, build_opener

from tests.html_forms import of_page
from tests.installation import Installation
from tests.live.panel.canary.places import Piece

LINK = re.compile(r'(?:href|hx-get)="([^"]+)"')
LEADS_OUT = re.compile(r"^/(?:static|logout|login|account/app/add|account/recovery-codes|account/confirm|v2)/?")
OBJECT = re.compile(r"/(?:[0-9a-f-]{36}|[0-9]+)/")
REVEALS = re.compile(r"^/api/v1/poolers/[^/]+/files/$")  # for programs that fetch them, with scope `apply`
STREAMED = re.compile(r"/(?:events|live)/$")
OF_ONE_KIND = 1  # pages that differ by their object or their filters alone
READ_BYTES = 20_000_000
Answer = tuple[int, str, bytes]


class Reader:
    """Sends requests, with a session or with a token."""

    def __init__(self, installation: Installation, token: str = "") -> None:
        self.url, self.token = installation.url, token
        self.opener: OpenerDirector = build_opener(HTTPCookieProcessor(CookieJar()))

    def ask(self, path: str, body: bytes | None = None, kind: str = "") -> Answer:
        """One request; a stream is read for as long as something comes at once."""
        headers = {"Referer": self.url + path}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        if kind:
            headers["Content-Type"] = kind
        request = Request(self.url + path, data=body, headers=headers)
        is_stream = bool(STREAMED.search(urlsplit(path).path)) and body is None
        try:
            with self.opener.open(request, timeout=2 if is_stream else 60) as answer:
                return answer.status, answer.url, _begun(answer) if is_stream else answer.read(READ_BYTES)
        except HTTPError as error:
            return error.code, path, error.read()

    def send_form(self, path: str, page: bytes = b"", **values: Any) -> Answer:
        """Fill in the form of a page that has these fields, and send it to the page; any page has the CSRF token."""
        forms = of_page((page or self.ask(path)[2]).decode()) or of_page(self.ask("/tokens/")[2].decode())
        fitting = [one for one in forms if "csrfmiddlewaretoken" in one.names]
        kept = max(fitting, key=lambda form: len(set(values) & set(form.names))).without(*values)
        return self.ask(path, urlencode({**kept, **values}, doseq=True).encode(), "application/x-www-form-urlencoded")

    def send(self, path: str, body: Any) -> Answer:
        """POST JSON."""
        return self.ask(path, json.dumps(body).encode(), "application/json")


def _begun(answer: Any) -> bytes:
    found = b""
    with suppress(TimeoutError, OSError):
        while len(found) < 65536 and (line := answer.readline()):
            found += line
    return found


def pages(reader: Reader) -> Iterator[Piece]:
    """Pages of every kind that links lead to from the dashboard, each as a browser gets it."""
    read: dict[str, int] = {}
    waiting, known = ["/"], {"/"}
    while waiting:
        path = waiting.pop(0)
        kind = OBJECT.sub("/N/", urlsplit(path).path)
        if read.get(kind, 0) == OF_ONE_KIND:
            continue
        read[kind] = read.get(kind, 0) + 1
        status, url, body = reader.ask(path)
        assert status < 500, (path, status)
        yield path, body
        links = {_own(reader.url, url, link) for link in LINK.findall(body.decode(errors="replace"))}
        waiting += sorted(links - known - {""})
        known |= links


def _own(base: str, url: str, link: str) -> str:
    """The path of a link within the panel; empty for others."""
    target = urldefrag(urljoin(urljoin(base, url), html.unescape(link)))[0]
    path = target.removeprefix(base)
    return path if path.startswith("/") and path != target and not LEADS_OUT.match(path) else ""


def answers(reader: Reader) -> Iterator[Piece]:
    """Every read of the API, of each object that there is; not the reveals, which ask by `reveal=1`."""
    schema = json.loads(reader.ask("/api/schema/?format=json")[2])
    lists: dict[str, list[dict[str, Any]]] = {}
    for path, verbs in sorted(schema["paths"].items()):
        for filled in _filled(reader, path, lists) if "get" in verbs and not REVEALS.search(path) else ():
            yield filled, reader.ask(filled)[2]
    for run in lists["/api/v1/runs/"][:1]:  # one of each kind of stream costs two seconds
        yield (path := f"/api/v1/runs/{run['id']}/events/"), reader.ask(path)[2]
    for path in ("/metrics", "/healthz/ready", "/healthz/live", "/api/v1/no-such-thing/", "/api/schema/"):
        yield path, reader.ask(path)[2]


WORDS = {"word": ["config", "users", "databases", "pools"], "number": ["1", "2"], "node": ["1"]}


def _filled(reader: Reader, path: str, lists: dict[str, list[dict[str, Any]]]) -> Iterator[str]:
    if "{" not in path:
        yield from ([path] if not STREAMED.search(path) else [])
        return
    before, _, after = path.partition("{")
    name, _, rest = after.partition("}")
    if name in WORDS:
        values = WORDS[name]
    else:
        if before not in lists:
            found = json.loads(reader.ask(f"{before}?page_size=200")[2])
            lists[before] = found.get("results", []) if isinstance(found, dict) else []
        key = "cluster" if before.endswith("shelf/") else name
        values = [str(one[key]) for one in lists[before] if isinstance(one, dict) and key in one]
    for value in values:
        yield from _filled(reader, f"{before}{value}{rest}", lists)
    for as_ in ("csv", "html", "json", "pdf", "log"):  # reports and exports, refused where there is none of the kind
        if path.endswith(("/report/", "/export/")):
            for value in values:
                yield f"{before}{value}{rest}?as={as_}"
