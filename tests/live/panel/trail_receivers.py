"""Receivers of the audit trail as processes of their own, which can be killed: syslog over TCP, and a webhook.

`python trail_receivers.py syslog|webhook PORT FILE` appends a line of JSON to FILE for each entry that it was sent, and
only then ends the connection or answers. While FILE.slow exists, it waits a second in between.
"""

import json
import re
import socketserver
import sys
import time
from http.server import BaseHTTPRequestHandler
from pathlib import Path


class SyslogReceiver(socketserver.StreamRequestHandler):
    """Reads one message after the other, counted octets as RFC 6587 has them, and keeps it before the next."""

    rbufsize = 0

    def handle(self) -> None:
        while count := self._count():
            message = b""
            while len(message) < count:
                message += self.rfile.read(count - len(message))
            match = re.fullmatch(rb"<110>1 \S+ \S+ pooldeck - \S+ - (\{.*\})", message)
            assert match, message
            keep(match[1].decode())

    def _count(self) -> int:
        digits = b""
        while (one := self.rfile.read(1)).isdigit():
            digits += one
        return int(digits or 0)


class WebhookReceiver(BaseHTTPRequestHandler):
    """Takes a POST of entries."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert self.headers["X-Pooldeck-Signature"].startswith("sha256=")
        for entry in body["entries"]:
            keep(json.dumps(entry))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *words: object) -> None: ...


HANDLERS = {"syslog": SyslogReceiver, "webhook": WebhookReceiver}


def keep(line: str) -> None:
    """Append an entry, and wait where the test asked for it."""
    with kept.open("a") as file:
        file.write(f"{line}\n")
    if kept.with_suffix(".slow").exists():
        time.sleep(1)


if __name__ == "__main__":
    kind, port, kept = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    socketserver.TCPServer.allow_reuse_address = True
    with socketserver.TCPServer(("127.0.0.1", port), HANDLERS[kind]) as server:
        print("ready", flush=True)
        server.serve_forever()
