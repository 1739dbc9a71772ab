"""POOLDECK_HOME: the folder with all state of an installation, held by one start at a time."""

import fcntl
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cryptography.fernet import Fernet

from panel.lib import private_files
from panel.quickstart.ports import free_port, is_free, kept_or_free


class AlreadyRunning(Exception):
    """Another start holds the home."""


class Home:
    """The folder, its files, and what has to be the same at the next start: ports, passwords, the demo's ids."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.log_folder = path / "log"
        self.quickstart_path = path / "quickstart.json"
        self._kept_path = path / "installation.json"
        self._kept: dict[str, dict[str, Any]] = {}
        self.is_moved = False

    def open(self) -> None:
        """Make the folder and read what an earlier start left there."""
        # others may pass through, to the folders of the servers' account; every file in it is its owner's only
        self.path.mkdir(parents=True, exist_ok=True)
        self.path.chmod(0o711)
        self.log_folder.mkdir(mode=0o700, exist_ok=True)
        (self.path / "static").mkdir(exist_ok=True)  # STATIC_ROOT; WhiteNoise warns when it is not there
        self._kept = read_json(self._kept_path)
        was = self.kept("home", "path")
        self.is_moved = was not in (None, str(self.path))  # then whoever has its ports is the original, and stays
        if was != str(self.path):
            self.keep("home", "path", str(self.path))

    @contextmanager
    def held(self) -> Iterator["Home"]:
        """The home, locked for this process; raises `AlreadyRunning` with the holder's pid and address."""
        self.path.mkdir(parents=True, exist_ok=True)
        lock_fd = os.open(self._lock_path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(lock_fd)
            raise AlreadyRunning(self._holder()) from error
        try:
            self.write_holder("")
            self.open()
            yield self
        finally:
            os.close(lock_fd)

    @property
    def _lock_path(self) -> Path:
        return self.path / "lock"

    def write_holder(self, url: str) -> None:
        """Write for the next start who holds the home and where it serves (in place: the lock is on this file)."""
        self._lock_path.write_text(json.dumps({"pid": os.getpid(), "url": url}))

    def _holder(self) -> str:
        holder = read_json(self._lock_path)
        place = f"at {holder['url']}" if holder.get("url") else "and still starting"
        return (
            f"Pooldeck is running already, {place} (pid {holder.get('pid', 'unknown')}, home {self.path}): "
            "stop that one first, or set POOLDECK_HOME to another folder for a second installation"
        )

    def keep(self, group: str, name: str, value: Any) -> None:
        """Remember a value for the next start."""
        self._kept.setdefault(group, {})[name] = value
        private_files.replace(self._kept_path, json.dumps(self._kept, indent=2) + "\n")

    def kept(self, group: str, name: str) -> Any:
        """A value of an earlier start, or None."""
        return self._kept.get(group, {}).get(name)

    def password(self, name: str) -> str:
        """The password of this name, made at first use; safe in URLs and every configuration file."""
        if not self.kept("passwords", name):
            self.keep("passwords", name, secrets.token_urlsafe(24))
        return str(self.kept("passwords", name))

    def port(self, name: str) -> int:
        """The port of this name, the one of the last start where it is still free."""
        kept = self.kept("ports", name)
        port = free_port() if self.is_moved and kept and not is_free(kept) else kept_or_free(kept)
        self.keep("ports", name, port)
        return port

    def make_keys(self) -> None:
        """The panel's secret key and the key of its stored passwords, once."""
        for name, text in (("secret_key", secrets.token_urlsafe(48)), ("keys", Fernet.generate_key().decode())):
            if not (self.path / name).exists():
                private_files.replace(self.path / name, text + "\n")

    def read_quickstart(self) -> dict[str, Any]:
        """`{url, username, password, token}` of the last start; empty before the first."""
        return read_json(self.quickstart_path)

    def write_quickstart(self, values: dict[str, str]) -> None:
        """Write quickstart.json, 0600."""
        private_files.replace(self.quickstart_path, json.dumps(values, indent=2) + "\n")


def read_json(path: Path) -> dict[str, Any]:
    """The object in a file; empty when there is none, or none that can be read."""
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
