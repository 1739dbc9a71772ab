"""A real OpenID Connect provider on loopback: oidc-provider-mock, in a process of its own."""

import json
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import quote, urlencode

from panel.quickstart.servers import free_port

WAIT_S = 60


class OIDCProvider:
    """The provider at `issuer`; any client may ask it."""

    def __init__(self, issuer: str) -> None:
        self.issuer = issuer

    def put(self, subject: str, **claims: object) -> None:
        """What it says of a person from now on."""
        asked = urllib.request.Request(
            f"{self.issuer}/users/{quote(subject)}",
            json.dumps(claims).encode(),
            {"Content-Type": "application/json"},
            method="PUT",
        )
        urllib.request.urlopen(asked, timeout=WAIT_S).close()

    def authorize(self, address: str, subject: str) -> str:
        """Be this person there, and say yes; return the address that it leads back to."""
        return self._led(address, {"sub": subject})

    def deny(self, address: str) -> str:
        """Say no there; return the address that it leads back to."""
        return self._led(address, {"action": "deny"})

    def _led(self, address: str, form: dict[str, str]) -> str:
        opener = urllib.request.build_opener(Stay)
        try:
            opener.open(address, urlencode(form).encode(), timeout=WAIT_S)
        except urllib.error.HTTPError as answer:
            return answer.headers["Location"]
        raise AssertionError("it leads nowhere")


class Stay(urllib.request.HTTPRedirectHandler):
    """Follows no redirect."""

    def redirect_request(self, *_words: object) -> None:
        return None


@contextmanager
def serving() -> Iterator[OIDCProvider]:
    """Start it, wait until it describes itself, and end it."""
    port = free_port()
    command = [sys.executable, "-W", "ignore", "-m", "oidc_provider_mock", "--port", str(port)]
    with tempfile.TemporaryFile() as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        issuer = f"http://localhost:{port}"
        deadline = time.monotonic() + WAIT_S
        try:
            while not _describes_itself(issuer):
                assert process.poll() is None, log.seek(0) or log.read()
                assert time.monotonic() < deadline, "the provider does not start"
                time.sleep(0.05)
            yield OIDCProvider(issuer)
        finally:
            process.kill()


def _describes_itself(issuer: str) -> bool:
    try:
        with urllib.request.urlopen(f"{issuer}/.well-known/openid-configuration", timeout=WAIT_S) as answer:
            return answer.status == 200
    except OSError:
        return False
