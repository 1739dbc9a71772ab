"""Canaille, an identity provider that companies run, on loopback: with its own login form, its groups and its keys."""

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path

import tomlkit
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from panel.quickstart.servers import free_port

WAIT_S = 120
PASSWORD = "known-to-the-provider-only"
# Its own commands, many in one process: to import it takes longer than to do them.
COMMANDS = """
import json, sys
from canaille.commands import cli
for words in json.load(sys.stdin):
    cli(words, standalone_mode=False)
"""
# Its own server, whose clock goes wrong as the file says, in seconds.
SERVER = """
import sys, time
from pathlib import Path
right, clock = time.time, Path(sys.argv.pop(1))
time.time = lambda: right() + int(clock.read_text())
from canaille.commands import cli
cli()
"""


class Canaille:
    """The provider, which has one client: the panel at `panel_url`."""

    client_id = "pooldeck"
    client_secret = "of-the-tests"

    def __init__(self, folder: Path, panel_url: str) -> None:
        self.port = free_port()
        self.issuer = f"http://localhost:{self.port}"
        self._folder, self._clock = folder, folder / "clock"
        self._keys: list[str] = []
        self._clock.write_text("0")
        self.rotate_key()
        client = {
            "client-id": self.client_id,
            "client-secret": self.client_secret,
            "client-name": "Pooldeck",
            "client-uri": panel_url,
            "redirect-uris": f"{panel_url}/login/provider/callback/",
            "post-logout-redirect-uris": f"{panel_url}/login/",
            "grant-types": "authorization_code",
            "response-types": "code",
            "scope": "openid profile email groups",
            "token-endpoint-auth-method": "client_secret_basic",
        }
        self._command(
            ["install"],
            ["create", "client", "--quiet", *_options(client)],
            ["set", "client", self.client_id, "--quiet", "--audience", self.client_id],  # as its own form does it
        )

    def rotate_key(self, *, keep: int = 1) -> None:
        """Sign with a new key from the next start on; of those before, so many stay published."""
        self._keys = [_new_key(), *self._keys[:keep]]
        settings = {
            "SECRET_KEY": "of-the-tests" * 4,
            "SERVER_NAME": f"localhost:{self.port}",
            "PREFERRED_URL_SCHEME": "http",
            "CANAILLE": {"DATABASE": "sql"},
            "CANAILLE_SQL": {"DATABASE_URI": f"sqlite:///{self._folder / 'canaille.sqlite'}"},
            "CANAILLE_OIDC": {
                "ACTIVE_JWKS": self._keys[:1],
                "INACTIVE_JWKS": self._keys[1:],
                "USERINFO_MAPPING": {"PREFERRED_USERNAME": "{{ user.user_name }}"},
            },
        }
        (self._folder / "canaille.toml").write_text(tomlkit.dumps(settings))

    def add_people(self, *names: str) -> None:
        """Make people of these user names, all with the same password."""
        persons = [{"user-name": name, "family-name": name, "emails": f"{name}@example.org"} for name in names]
        made = [["create", "user", "--quiet", "--password", PASSWORD, *_options(one)] for one in persons]
        self._command(*made)

    def add_groups(self, **members: Sequence[str]) -> None:
        """Make groups with these members, at least one each: there is no empty group there."""
        self._command(
            *(["create", "group", "--quiet", "--display-name", name, *_members(them)] for name, them in members.items())
        )

    def set_members(self, **members: Sequence[str]) -> None:
        """Let groups have these members and no others."""
        self._command(*(["set", "group", name, "--quiet", *_members(them)] for name, them in members.items()))

    def set_clock(self, seconds: int) -> None:
        """Let its clock go ahead by so many seconds, or behind."""
        self._clock.write_text(str(seconds))

    def start(self) -> None:
        """Start it and wait until it describes itself."""
        words = [str(self._clock), "run", "--workers", "0", "--bind", f"127.0.0.1:{self.port}"]  # 0: in this process
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-c", SERVER, *words], env=self._environment(), stdout=log, stderr=log
            )
        deadline = time.monotonic() + WAIT_S
        while not self._describes_itself():
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.05)

    def stop(self) -> None:
        """End it; what it knows stays."""
        self._process.terminate()
        self._process.wait(WAIT_S)

    def published_keys(self) -> list[str]:
        """The ids of the keys by which its tokens are verified, the one that it signs with first."""
        with urllib.request.urlopen(f"{self.issuer}/oauth/jwks.json", timeout=WAIT_S) as answer:
            return [key["kid"] for key in json.load(answer)["keys"]]

    @property
    def log(self) -> Path:
        """What its server says."""
        return self._folder / "canaille.log"

    def _describes_itself(self) -> bool:
        assert self._process.poll() is None, self.log.read_text()
        try:
            with urllib.request.urlopen(f"{self.issuer}/.well-known/openid-configuration", timeout=WAIT_S) as answer:
                return answer.status == 200
        except OSError:
            return False

    def _command(self, *commands: list[str]) -> None:
        done = subprocess.run(
            [sys.executable, "-c", COMMANDS],
            input=json.dumps(commands),
            env=self._environment(),
            capture_output=True,
            text=True,
            timeout=WAIT_S,
        )
        assert done.returncode == 0, f"{commands}: {done.stdout}{done.stderr}"

    def _environment(self) -> dict[str, str]:
        own = {"CANAILLE_CONFIG": str(self._folder / "canaille.toml"), "PYTHONWARNINGS": "ignore"}
        return {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "TMPDIR")} | own


def _options(values: dict[str, str]) -> list[str]:
    return [word for name, value in values.items() for word in (f"--{name}", value)]


def _members(names: Sequence[str]) -> list[str]:
    return [word for name in names for word in ("--members", name)]


def _new_key() -> str:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    plain = serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain).decode()
