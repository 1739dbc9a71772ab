"""Answers that were held back (`?wait=`): made again when what they waited for has settled."""

from django.db import close_old_connections
from django.http.response import HttpResponseBase

from core.accounts.audit.origins import RequestOrigin
from core.accounts.waits import HeldBack
from core.audit.actors import acting
from panel import private_texts

OF_STATUS = ("WWW-Authenticate", "Retry-After")  # headers that belong to the status


def body_of(response: HttpResponseBase, held: HeldBack) -> bytes:
    """Return the body as it is now, and give the response its status; all middleware saw the response before."""
    close_old_connections()
    with acting(RequestOrigin(held.request)):
        request, found = held.answer()
        content = private_texts.as_read_by(request, found.rendered_content)
    response.status_code = found.status_code
    for name in OF_STATUS:
        if name in found:
            response[name] = found[name]
    response["Content-Length"] = str(len(content))
    return content
