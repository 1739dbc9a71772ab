"""HTTP/1.1 answers, read as they come and not kept: status, size, and whether the connection can be used again."""

from typing import Final

MOST_HEAD_BYTES: Final = 65_536
KEPT_BODY_BYTES: Final = 300  # of an answer that is an error, to say what it says


class NotHttp(Exception):
    """What came is no answer in HTTP/1."""


class Answer:
    """One answer; feed it until `done`, tell it when the other side closed."""

    def __init__(self) -> None:
        self.status = 0
        self.size_bytes = 0
        self.done = self.reusable = False
        self.beginning = b""
        self._buffer = b""
        self._left: int | None = None  # of the body or chunk; None: until the other side closes
        self._chunked = self._in_body = self._in_trailer = False

    def feed(self, received: bytes) -> None:
        """Take what came; raises `NotHttp`."""
        self.size_bytes += len(received)
        if not self._in_body:
            self._buffer += received
            if not self._read_head():
                return
            received, self._buffer = self._buffer, b""
        if self._chunked:
            self._feed_chunks(received)
        else:
            self._feed_body(received)

    def closed(self) -> None:
        """The other side closed: the end of a body without a length, else the answer was cut off."""
        if self._in_body and self._left is None and not self._chunked and not self.done:
            self.done = True

    def _read_head(self) -> bool:
        head, found, rest = self._buffer.partition(b"\r\n\r\n")
        if not found:
            if len(self._buffer) > MOST_HEAD_BYTES or not b"HTTP/1.".startswith(self._buffer[:7]):
                raise NotHttp("the answer is no HTTP/1")
            return False
        first, *lines = head.split(b"\r\n")
        self.status = _status(first)
        if self.status < 200:  # 1xx comes before the answer itself
            self._buffer = rest
            return self._read_head()
        self._take_headers(first, dict(map(_header, lines)))
        self._buffer = rest
        self._in_body = True
        return True

    def _take_headers(self, first: bytes, headers: dict[bytes, bytes]) -> None:
        reported = headers.get(b"connection", b"").lower()
        self.reusable = b"close" not in reported and (first.startswith(b"HTTP/1.1") or b"keep-alive" in reported)
        self._chunked = b"chunked" in headers.get(b"transfer-encoding", b"").lower()
        length = headers.get(b"content-length")
        if self.status in (204, 304) or self._chunked:
            self._left = 0
        elif length is not None:
            if not length.isdigit():
                raise NotHttp("the answer's length is no number")
            self._left = int(length)
        else:
            self.reusable = False

    def _feed_body(self, received: bytes) -> None:
        self._keep(received)
        if self._left is not None:
            self._left -= len(received)
            self.done = self._left <= 0

    def _feed_chunks(self, received: bytes) -> None:
        rest = self._buffer + received
        while rest and not self.done:
            left = self._left or 0
            if left > len(rest):
                self._keep(rest)
                self._left, rest = left - len(rest), b""
            else:
                self._keep(rest[:left])
                self._left, rest = 0, rest[left:]
                line, found, behind = rest.partition(b"\r\n")
                if not found:
                    break
                rest = behind
                self._read_chunk_line(line)
        self._buffer = rest

    def _read_chunk_line(self, line: bytes) -> None:
        """The end of a chunk (empty), the size of the next, or a line of the trailer."""
        if self._in_trailer:
            self.done = not line
        elif line:
            try:
                size = int(line.partition(b";")[0], 16)
            except ValueError:
                raise NotHttp("a chunk has no size") from None
            self._left, self._in_trailer = size, size == 0

    def _keep(self, body: bytes) -> None:
        if self.status >= 300 and len(self.beginning) < KEPT_BODY_BYTES:
            self.beginning += body[: KEPT_BODY_BYTES - len(self.beginning)]


def _status(line: bytes) -> int:
    version, _, rest = line.partition(b" ")
    if not version.startswith(b"HTTP/1.") or not rest[:3].isdigit():
        raise NotHttp("the answer is no HTTP/1")
    return int(rest[:3])


def _header(line: bytes) -> tuple[bytes, bytes]:
    name, _, value = line.partition(b":")
    return name.strip().lower(), value.strip()
