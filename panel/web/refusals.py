"""What is answered beyond the capacity of the process: made once, as it has no time to make it then."""

from functools import cache

from django.http import HttpResponse
from django.template import loader
from django.utils.translation import gettext as _

from core.lib.asgi import Scope, Send
from panel import error_pages

COME_BACK_S = 2
SAFE = frozenset({"GET", "HEAD"})
PAGE = "/"  # stands for every address below none of the APIs


async def send(scope: Scope, send_message: Send) -> None:
    """Answer 503 with `Retry-After`; the page that a person gets loads itself again."""
    prefix = next((api for api in error_pages.APIS if scope["path"].startswith(api)), PAGE)
    is_read = scope["method"] in SAFE
    kind, body = _answer(prefix, is_read)
    headers = [("Content-Type", kind), ("Retry-After", str(COME_BACK_S)), ("Cache-Control", "no-store")]
    if prefix == PAGE and is_read:
        headers.append(("Refresh", str(COME_BACK_S)))
    headers.append(("Content-Length", str(len(body))))
    raw = [(name.encode(), value.encode()) for name, value in headers]
    await send_message({"type": "http.response.start", "status": 503, "headers": raw})
    await send_message({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})


def prepare() -> None:
    """Make all of them."""
    for prefix in (PAGE, *error_pages.APIS):
        for is_read in (True, False):
            _answer(prefix, is_read)


@cache
def _answer(prefix: str, is_read: bool) -> tuple[str, bytes]:
    if prefix == PAGE:
        answer = HttpResponse(loader.get_template("busy.html").render({"is_read": is_read}))
    else:
        text = _("the panel has more to do than it can: nothing was done, try again in %(seconds)d s")
        answer = error_pages.refused(prefix, 503, text % {"seconds": COME_BACK_S})
    return answer["Content-Type"], answer.content
