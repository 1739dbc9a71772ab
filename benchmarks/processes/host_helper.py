"""A script beside a load on a host, which answers the lines that it is sent; it ends with the login and the home."""

import subprocess
from contextlib import suppress
from typing import IO

ENDED_WITHIN_S = 2.0


class HostHelper:
    """A script that was started with pipes as stdin and stdout."""

    def __init__(self, child: "subprocess.Popen[bytes]") -> None:
        if child.stdin is None or child.stdout is None:
            raise ValueError("a helper needs pipes")
        self._child = child
        self._stdin: IO[bytes] = child.stdin
        self.stdout: IO[bytes] = child.stdout

    def greeting(self, word: str) -> str:
        """Return the rest of the first line that begins with this word; empty where none came.

        An account's shell may print other lines before.
        """
        for line in self.stdout:
            first, _space, rest = line.decode(errors="replace").rstrip("\n").partition(" ")
            if first == word:
                return rest
        return ""

    def send(self, line: str = "") -> None:
        """Send it a line; a lost connection shows elsewhere."""
        with suppress(OSError, ValueError):
            self._stdin.write(line.encode() + b"\n")
            self._stdin.flush()

    def send_end(self) -> None:
        """Close its stdin, after which it ends by itself."""
        with suppress(OSError):
            self._stdin.close()

    def close(self) -> None:
        """End it. Safe to call again."""
        self.send_end()
        try:
            self._child.wait(ENDED_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        for pipe in (self.stdout, self._child.stderr):
            if pipe:
                pipe.close()
