"""HTTP/1.1 answers, read as they come and not kept: status, size, and whether the connection can be used again.

httptools (Node's llhttp) parses: 3 µs an answer of 500 bytes, where h11 takes 270 µs, ten times what all else of a
request costs the load program.
"""

from typing import Final

import httptools

MOST_HEAD_BYTES: Final = 65_536
KEPT_BODY_BYTES: Final = 300  # of an answer that is an error, to say what it says
ENDED_BY_LENGTH = (b"content-length", b"transfer-encoding")


class NotHttp(Exception):
    """What came is no answer in HTTP/1."""


class Answer:
    """One answer; feed it until `done`, tell it when the other side closed."""

    def __init__(self) -> None:
        self.status = 0
        self.size_bytes = 0
        self.done = self.reusable = False
        self.beginning = b""
        self._in_body = self._has_end = False
        self._parser = httptools.HttpResponseParser(self)

    def feed(self, received: bytes) -> None:
        """Take what came; raises `NotHttp`."""
        self.size_bytes += len(received)
        if not self._in_body and self.size_bytes > MOST_HEAD_BYTES + len(received):
            raise NotHttp("the head of the answer has no end")
        try:
            self._parser.feed_data(received)
        except httptools.HttpParserError as error:
            raise NotHttp(f"the answer is no HTTP/1: {error}") from None

    def closed(self) -> None:
        """The other side closed: the end of a body without a length, else the answer was cut off."""
        if self._in_body and not self._has_end:
            self.done = True

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header, called by the parser."""
        self._has_end = self._has_end or name.lower() in ENDED_BY_LENGTH

    def on_headers_complete(self) -> None:
        """Take the status; 1xx comes before the answer itself."""
        self.status = self._parser.get_status_code()
        self._in_body = self.status >= 200
        self.reusable = self._parser.should_keep_alive()

    def on_body(self, body: bytes) -> None:
        """Keep the beginning of an answer that is an error."""
        if self.status >= 300 and len(self.beginning) < KEPT_BODY_BYTES:
            self.beginning += body[: KEPT_BODY_BYTES - len(self.beginning)]

    def on_message_complete(self) -> None:
        """End it, unless it was a 1xx."""
        self.done = self._in_body
