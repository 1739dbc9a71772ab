"""A whole installation under test: `script/up` in a home of its own, and a small client of its API."""

import json
import os
import signal
import subprocess
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
READY, READY_WITHIN_S = "Pooldeck is ready at", 600.0


class Refused(AssertionError):
    """The API answered with an error."""

    def __init__(self, status: int, body: Any) -> None:
        super().__init__(f"{status}: {body}")
        self.status, self.body = status, body


class Api:
    """`/api/v1/` with a token; answers parsed JSON and raises `Refused` for 4xx and 5xx."""

    def __init__(self, url: str, token: str) -> None:
        self.url, self.token = url.rstrip("/"), token

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """One request; `path` is relative to /api/v1/."""
        request = urllib.request.Request(
            f"{self.url}/api/v1/{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                text = answer.read()
        except urllib.error.HTTPError as error:
            raise Refused(error.code, error.read().decode(errors="replace")) from error
        return json.loads(text) if text else None

    def get(self, path: str) -> Any:
        """GET."""
        return self.call("GET", path)

    def post(self, path: str, body: Any = None) -> Any:
        """POST."""
        return self.call("POST", path, body or {})

    def wait(self, path: str, field: str, wanted: set[str], seconds: float) -> Any:
        """The record once `field` holds one of `wanted`; fails at the deadline with what it held."""
        deadline = time.monotonic() + seconds
        while True:
            record = self.get(path)
            if record[field] in wanted:
                return record
            if time.monotonic() > deadline:
                raise AssertionError(f"{path}: {field} is still {record[field]!r} after {seconds} s: {record}")
            time.sleep(0.2)


class Installation:
    """`script/up`, or another program that does the same, as a context manager."""

    def __init__(self, home: Path, *arguments: str, program: tuple[str, ...] = (str(ROOT / "script" / "up"),)) -> None:
        self.home, self.argv = home, [*program, *arguments]
        self.lines: list[str] = []
        self.ready = threading.Event()

    def __enter__(self) -> "Installation":
        self.process = subprocess.Popen(
            self.argv,
            env={**os.environ, "POOLDECK_HOME": str(self.home)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        deadline = time.monotonic() + READY_WITHIN_S
        while not self.ready.wait(0.2):
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.__exit__()
                raise AssertionError("script/up did not get ready:\n" + "".join(self.lines))
        self.quickstart = json.loads((self.home / "quickstart.json").read_text())
        self.url = self.quickstart["url"].rstrip("/")
        self.api = Api(self.url, self.quickstart["token"])
        return self

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.lines.append(line)
            if READY in line:
                self.ready.set()

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            raise
        self.reader.join(5)
        assert self.process.stdout
        self.process.stdout.close()
