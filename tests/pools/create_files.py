"""A POOLDECK_CREATE_FILE with small commands, and requests for what it offers."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from pools.models import ClusterCreation

SIZE, REGION = "db-s-4vcpu-8gb", "ams3"
MADE = {"host": "127.0.0.1", "port": 1, "admin_user": "postgres", "admin_password": "made-secret", "sslmode": "disable"}


class CreateFile:
    """The file, whose commands are Python programs of the test; each program's standard input is read into `asked`."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.path, self.lines = folder, folder / "create.toml", [""]

    def offer(self, create: str = "", delete: str = "", **values: Any) -> None:
        """Add a table whose commands are these programs."""
        words = {"size": SIZE, "region": REGION, "command": self.command(create or f"print(json.dumps({MADE!r}))")}
        words |= ({"delete": self.command(delete)} if delete else {}) | values
        self.lines += ["[[create]]", *(f"{name} = {json.dumps(one)}" for name, one in words.items())]
        self.path.write_text("\n".join(self.lines))
        self.path.chmod(0o600)

    def command(self, program: str) -> list[str]:
        begin = "import json, os, sys, time\nasked = json.load(sys.stdin)\n"
        return [sys.executable, "-c", begin + program]


@pytest.fixture
def create_file(tmp_path: Path, settings: Any) -> CreateFile:
    """The file that the settings name; it offers nothing yet."""
    made = CreateFile(tmp_path)
    settings.CREATE_FILE = str(made.path)
    return made


def a_creation(**fields: Any) -> ClusterCreation:
    """A request that no worker has taken."""
    return ClusterCreation.objects.create(**{"name": "orders", "size": SIZE, "region": REGION} | fields)
