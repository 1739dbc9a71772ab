"""POOLDECK_HOME: the folder with all state of an installation, locked by one start at a time."""

import fcntl
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cryptography.fernet import Fernet

from core.lib import env, private_files
from panel.quickstart.ports import free_port, is_free, same_or_free_port


class AlreadyRunning(Exception):
    """Another start has locked the home."""


class Home:
    """The folder, its files, and what the next start needs again: ports, passwords, the demo's ids."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.log_folder = path / "log"
        self.quickstart_path = path / "quickstart.json"
        self._kept_path = path / "installation.json"
        self._kept: dict[str, dict[str, object]] = {}
        self.is_moved = False

    def open(self) -> None:
        """Create the folder and read what an earlier start stored."""
        # 0711: the servers' account must reach its own folders; all files are readable by their owner only
        self.path.mkdir(parents=True, exist_ok=True)
        self.path.chmod(0o711)
        self.log_folder.mkdir(mode=0o700, exist_ok=True)
        (self.path / "static").mkdir(exist_ok=True)  # STATIC_ROOT; WhiteNoise warns when it is not there
        self.read()
        was = self.kept("home", "path")
        self.is_moved = was not in (None, str(self.path))  # then the original may use its ports
        if was != str(self.path):
            self.keep("home", "path", str(self.path))

    def read(self) -> None:
        """Read what an earlier start stored, without changing anything."""
        self._kept = read_json(self._kept_path)

    @contextmanager
    def opened(self) -> Iterator["Home"]:
        """Lock the home for this process and open it; raises `AlreadyRunning` with the holder's pid and URL."""
        with self.locked():
            self.write_holder("")
            self.open()
            yield self

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the home for this process; raises `AlreadyRunning`."""
        self.path.mkdir(parents=True, exist_ok=True)
        lock_fd = os.open(self._lock_path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(lock_fd)
            raise AlreadyRunning(self._holder()) from error
        try:
            yield
        finally:
            os.close(lock_fd)

    @property
    def _lock_path(self) -> Path:
        return self.path / "lock"

    def write_holder(self, url: str) -> None:
        """Record this process and its URL in the lock file, in place, for the message of another start."""
        self._lock_path.write_text(json.dumps({"pid": os.getpid(), "url": url}))

    def _holder(self) -> str:
        holder = read_json(self._lock_path)
        place = f"at {holder['url']}" if holder.get("url") else "and still starting"
        return (
            f"Pooldeck is running already, {place} (pid {holder.get('pid', 'unknown')}, home {self.path}): "
            "stop that one first, or set POOLDECK_HOME to another folder for a second installation"
        )

    def restart_request(self, program: str) -> Path:
        """Return the file that asks the supervisor to start a program again whose end is on purpose."""
        return self.path / f"restart-{program}"

    def keep(self, group: str, name: str, value: object) -> None:
        """Remember a value for the next start."""
        self._kept.setdefault(group, {})[name] = value
        private_files.replace(self._kept_path, json.dumps(self._kept, indent=2) + "\n")

    def kept(self, group: str, name: str) -> Any:  # noqa: ANN401 (JSON; who asks has kept it)
        """Return a value of an earlier start, or None."""
        return self._kept.get(group, {}).get(name)

    def password(self, name: str) -> str:
        """Return the password of this name, generated at first use; safe in URLs and all configuration files."""
        if not self.kept("passwords", name):
            self.keep("passwords", name, secrets.token_urlsafe(24))
        return str(self.kept("passwords", name))

    def port(self, name: str) -> int:
        """Return the port of this name: that of the last start if it is free, else a new one."""
        kept = self.kept("ports", name)
        port = free_port() if self.is_moved and kept and not is_free(kept) else same_or_free_port(kept)
        self.keep("ports", name, port)
        return port

    def make_keys(self) -> None:
        """Create the panel's secret key and the key of its stored passwords, unless they exist or a command has it."""
        for name, text in (("secret_key", secrets.token_urlsafe(48)), ("keys", Fernet.generate_key().decode())):
            if not (self.path / name).exists() and not (name == "keys" and env.text("POOLDECK_KEY_COMMAND")):
                private_files.replace(self.path / name, text + "\n")

    def read_quickstart(self) -> dict[str, str]:
        """Return `{url, username, password, token}` of the last start; empty before the first."""
        return {name: str(value) for name, value in read_json(self.quickstart_path).items()}

    def write_quickstart(self, values: dict[str, str]) -> None:
        """Write quickstart.json with mode 0600."""
        private_files.replace(self.quickstart_path, json.dumps(values, indent=2) + "\n")


def read_json(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file; empty where it is missing or invalid."""
    try:
        value = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
