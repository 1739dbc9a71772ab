"""A server that the panel may restart, by a command in the operator's file."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from pytest_django import Settings

from panel.quickstart.servers import PostgresServer, free_port
from pools.models import Cluster


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder whose way the server's own account can go: pg_ctl runs as that."""
    with TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture
def restartable(open_folder: Path, settings: Settings, db: None) -> Iterator[Cluster]:
    """A cluster of its own whose server the panel may restart, by a command in the operator's file."""
    home = open_folder
    first = PostgresServer(home / "server", free_port(), password="secret", settings={"fsync": "off"})
    with first:
        first.create_owner_and_database("app", "app-password", "app")
        configuration = first.cluster_folder / "postgresql.conf"
        words = "\n".join(f"{name} = '{value}'" for name, value in own_settings(first).items())
        configuration.write_text(f"{configuration.read_text()}\n{words}\n")
    control = [
        str(first.bindir / "pg_ctl"),
        "-D",
        str(first.cluster_folder),
        "-w",
        "-m",
        "fast",
        "-l",
        f"{first.cluster_folder}/log",
    ]
    as_owner = ["setpriv", f"--reuid={first.cluster_folder.stat().st_uid}", "--clear-groups", "--", *control]
    script = home / "restart"
    script.write_text(f"#!/bin/sh\nexec {' '.join(as_owner)} restart > /dev/null 2>&1\n")
    script.chmod(0o755)
    file = home / "restart.toml"
    file.write_text(f'[restart]\nrestartable = ["{script}"]\n')
    settings.RESTART_FILE = str(file)
    subprocess.run([*as_owner, "start"], check=True, stdout=subprocess.DEVNULL)
    try:
        made = Cluster(
            name="restartable", host=first.host, port=first.port, admin_user=first.superuser, protected=False
        )
        made.admin_password = first.password
        made.save(force_insert=True)
        yield made
    finally:
        subprocess.run([*as_owner, "stop"], check=True, stdout=subprocess.DEVNULL)


def own_settings(server: PostgresServer) -> dict[str, str]:
    return {"listen_addresses": server.host, "port": str(server.port), "unix_socket_directories": "", "fsync": "off"}
