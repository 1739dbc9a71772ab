"""Services of an HTTP run while it is on: the products service, or the checked address of the user's own."""

import json
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from queue import Empty, Queue
from typing import cast

from django.utils.translation import gettext as _

from benchmarks.engines import http_addresses
from benchmarks.engines.base import RunContext
from benchmarks.engines.http.command import TARGET, service_command
from benchmarks.engines.http.options import aim_of
from benchmarks.engines.http.typed_options import HttpOptions
from benchmarks.errors import Refused
from benchmarks.processes import workdir
from benchmarks.processes.command import ROOT_CERTIFICATE, SERVICE_PID
from benchmarks.processes.process import QUEUED_EVENTS, Line, LoadProcess, drain
from pools.clusters.endpoints import Endpoint

LISTENS_WITHIN_S = 30.0
POLL_EVERY_S = 0.2
_LISTENING = re.compile(r"listening on ([0-9]{1,5})")
_REFUSED = re.compile(r"error connecting in '[^']*': (.+)")  # psycopg_pool's message; the pool goes on with fewer


@contextmanager
def run_services(context: RunContext) -> Iterator[None]:
    """Write the target's file into the private home; run the products service where the target is that.

    The service ends with the run, whatever happens. Raises `Refused` for an address that must not be loaded and for a
    service that does not start.
    """
    options = cast("HttpOptions", context.run.options)
    if url := options.get("url"):
        _aim(context, url, http_addresses.resolved(url))
        yield
        return
    words = service_command(
        options,
        binary=sys.executable,
        home=context.home,
        endpoint=_reached_from(context),
        application_name=context.run.application_name,
    )
    service = LoadProcess(words.argv, words.env, context.home, Queue(QUEUED_EVENTS))
    try:
        workdir.put(context.home / SERVICE_PID, str(service.pid))
        port = _port(context, service)
        _aim(context, f"http://127.0.0.1:{port}{aim_of(options)}", "127.0.0.1")
        yield
        _note_faults(context, service)
    finally:
        service.stop()


def _reached_from(context: RunContext) -> Endpoint:
    """Return the run's endpoint with its certificate in the private home: the service can't read the panel's own."""
    endpoint = context.endpoint
    return replace(endpoint, sslrootcert=str(context.home / ROOT_CERTIFICATE)) if endpoint.sslrootcert else endpoint


def _aim(context: RunContext, url: str, address: str) -> None:
    workdir.put(context.home / TARGET, json.dumps({"url": url, "address": address}))


def _note_faults(context: RunContext, service: LoadProcess) -> None:
    """Note that the service ended before its load, and why its pool is smaller than asked for.

    No request shows the latter, since requests share the connections that exist.
    """
    printed = [event.text for event in drain(service.events) if isinstance(event, Line)]
    refused = next((found[1] for text in printed if (found := _REFUSED.match(text))), "")
    exit_code = service.exit_code()
    if refused or exit_code is not None:
        context.note({"service": {"refused": refused, "exit_code": exit_code}})


def _port(context: RunContext, service: LoadProcess) -> int:
    """Return the port that the service prints once it listens; raise `Refused` where it does not within the time."""
    printed: list[str] = []
    deadline = time.monotonic() + LISTENS_WITHIN_S
    while time.monotonic() < deadline and (service.exit_code() is None or not service.events.empty()):
        context.check()
        try:
            event = service.events.get(timeout=POLL_EVERY_S)
        except Empty:
            continue
        if isinstance(event, Line) and (found := _LISTENING.fullmatch(event.text)):
            return int(found[1])
        printed += [event.text.strip()] if isinstance(event, Line) else []
    if printed:
        raise Refused(_("the products service did not start: %(error)s") % {"error": printed[-1]})
    if service.exit_code() is None:
        text = _("the products service did not start within %(seconds)d s and printed no reason")
        raise Refused(text % {"seconds": LISTENS_WITHIN_S})
    raise Refused(_("the products service did not start and printed no reason"))
