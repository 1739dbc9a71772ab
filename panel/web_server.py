"""The web process: `python -m panel.web_server --host 0.0.0.0 --port 8000`.

It is uvicorn with five additions that its own command has no options for: requests that do not arrive in full are
closed, requests with too long an address are told so, only proxies in POOLDECK_TRUSTED_PROXIES are trusted, at a signal
event streams end and requests that wait are answered, while every other request gets its time, and it does not start
without a key that stored secrets need.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from types import FrameType

import django
import uvicorn

from core.lib import draining, gc_tuning
from panel.request_deadlines import HEAD_BYTES, HeaderDeadline

STARTUP_FAILURE = 3  # uvicorn's own command exits with it too
# So long each turn of the event loop may wait for a thread that makes a page, and an event takes some turns: with
# Python's 5 ms it came 8 ms later beside one busy thread. Its price is in decision 16.
SWITCH_S = 0.0005
REQUESTS_END_WITHIN_S = 30  # the longest answers are reports; streams end within a second by themselves


def options(words: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line: where to listen, and with which certificate."""
    parser = argparse.ArgumentParser(prog="python -m panel.web_server", description="Serve the panel.")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    parser.add_argument("--port", type=int, default=8000, help="port to listen on (default: %(default)s)")
    parser.add_argument("--fd", type=int, help="number of an open, listening file descriptor, instead of both")
    parser.add_argument("--certificate", help="PEM file of a certificate: serve HTTPS")
    parser.add_argument("--key", help="PEM file of the certificate's key")
    return parser.parse_args(words)


class Server(uvicorn.Server):
    """uvicorn's, which tells the application that it ends."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Take no more connections, and let open requests end."""
        draining.begin()
        super().handle_exit(sig, frame)


def _check_keys() -> None:
    """End where a key is missing; here, as uvicorn imports the application in its event loop, where no query may be."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "panel.settings")
    django.setup()
    from panel import start  # models, which need Django set up

    start.end_without_a_needed_key()


def main() -> None:
    """Serve until a signal ends it."""
    where = options()
    sys.setswitchinterval(SWITCH_S)
    gc_tuning.pause()  # The collector is off until the application is imported.
    _check_keys()
    config = uvicorn.Config(
        "panel.asgi:application",
        host=where.host,
        port=where.port,
        fd=where.fd,
        ssl_certfile=where.certificate,
        ssl_keyfile=where.key,
        http=HeaderDeadline,
        h11_max_incomplete_event_size=HEAD_BYTES,
        proxy_headers=False,
        lifespan="off",
        access_log=False,
        timeout_graceful_shutdown=REQUESTS_END_WITHIN_S,
    )
    server = Server(config)
    server.run()
    if not server.started:
        sys.exit(STARTUP_FAILURE)


if __name__ == "__main__":
    main()
