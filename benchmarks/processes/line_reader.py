"""Splits the output of any program into lines, as its bytes arrive."""

import re
from collections.abc import Iterator

MAX_LINE_BYTES = 8 * 1024


class LineReader:
    """Splits a stream of bytes into lines at LF and CR, at most 8 KiB each, decoded with replacement.

    The rest of a longer line is dropped and counted in `truncated`; empty lines are left out.
    """

    def __init__(self) -> None:
        self._kept = bytearray()
        self._dropping = False
        self.truncated = 0

    def feed(self, chunk: bytes) -> list[str]:
        """Return the lines that this chunk completes."""
        *ended, rest = re.split(rb"[\r\n]", chunk)
        lines = [line for piece in ended for line in self._end(piece)]
        self._keep(rest)
        return lines

    def close(self) -> list[str]:
        """Return the last line, where the stream ended without a newline."""
        return list(self._end(b""))

    def _end(self, piece: bytes) -> Iterator[str]:
        self._keep(piece)
        if self._kept:
            yield self._kept.decode("utf-8", "replace").replace("\x00", "\ufffd")
        self._kept.clear()
        self._dropping = False

    def _keep(self, piece: bytes) -> None:
        room = MAX_LINE_BYTES - len(self._kept)
        self._kept += piece[:room]
        if len(piece) > room and not self._dropping:
            self._dropping = True
            self.truncated += 1
