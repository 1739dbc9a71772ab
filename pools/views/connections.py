"""Answers to the form of a connection box."""

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from core.accounts import confirmation
from core.audit.acts import record_reveal
from pools.connection_strings import UnknownFormat
from pools.connection_strings.box import BoxChoices, ConnectionBox

logger = logging.getLogger(__name__)
Record = TypeVar("Record", bound=Model)
UNCONFIRMED = _("you entered your password more than 15 minutes ago: choose Show password to enter it again")


def connection_answer(
    request: HttpRequest,
    record: Record,
    box_of: Callable[[Record, BoxChoices], ConnectionBox],
    page: Callable[[HttpRequest, Record, BoxChoices], HttpResponse],
) -> HttpResponse:
    """Return one text to copy with its password (`as`), the box alone (htmx), or the whole page.

    Passwords are shown only to a user who confirmed their own in the last 15 minutes; otherwise the box asks for it,
    and a request for one text is refused with 403. Each password shown is logged.
    """
    choices, format_name = BoxChoices.chosen(request.POST), request.POST.get("as")
    if (choices.reveal or format_name) and not _is_confirmed(request):
        if format_name:
            return HttpResponse(UNCONFIRMED, content_type="text/plain; charset=utf-8", status=403)
        error = gettext("That is not your password.") if "password" in request.POST else ""
        choices = replace(choices, reveal=False, asks=True, error=error)
    elif (choices.reveal or format_name) and box_of(record, choices).knows_password:
        logger.info("the password of %s %s was shown to %s", record._meta.model_name, record.pk, request.user)
        record_reveal(record, format_name or "page")
    if format_name:
        return _one_text(box_of(record, choices), choices.target, format_name)
    if request.htmx:  # type: ignore[attr-defined]  # the middleware adds it
        return render(request, "includes/connection_box.html", {"box": box_of(record, choices), "may_reveal": True})
    return page(request, record, choices)


def _is_confirmed(request: HttpRequest) -> bool:
    password = request.POST.get("password")
    return confirmation.is_recent(request) or (password is not None and confirmation.confirm(request, password))


def _one_text(box: ConnectionBox, target: str, as_: str) -> HttpResponse:
    try:
        text, status = box.text(target, as_), 200
    except UnknownFormat as error:
        text, status = str(error), error.status
    return HttpResponse(text, content_type="text/plain; charset=utf-8", status=status)
