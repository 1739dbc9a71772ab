"""A panel of a few lines, as a wheel: its database and its services are files, its releases are real environments."""

import json
import os
import subprocess
import sys
import threading
import time
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from panel.upgrade.services import START_ORDER
from tests.test_wheel import UV

ROOT = Path(__file__).resolve().parents[4]
PROGRAM = """
import json, os, pathlib, shutil, sys, time

VERSION = "{version}"
home = pathlib.Path(os.environ["POOLDECK_HOME"])
verb, words = sys.argv[1], sys.argv[2:]
database = home / "database"


def main():
    at = f"{{verb}} {{VERSION}}"
    with (home / "calls").open("a") as calls:
        print(at, file=calls)
    if verb == "migrate":
        database.write_text("half migrated")
    if at == (home / "slow").read_text():
        time.sleep(20)
    if at == (home / "broken").read_text():
        sys.exit(f"{{verb}} of {{VERSION}} is broken on purpose")
    if verb == "migrate":
        database.write_text(VERSION)
    elif verb == "collectstatic":
        (home / "pages").write_text(VERSION)
    elif verb == "backup":
        folder = pathlib.Path(words[0])
        folder.mkdir(parents=True)
        shutil.copy(database, folder / "metadata.sqlite3")
    elif verb == "restore":
        assert words[1:] == ["--yes", "--go-back"]
        shutil.copy(pathlib.Path(words[0]) / "metadata.sqlite3", database)
    elif verb == "doctor":
        print((home / f"doctor {{VERSION}}").read_text())
"""
SERVICES = """#!/bin/sh
# PROGRAM stop|start|is-active UNIT; what runs is a file with the release that it was started from
set -eu
. {environment}  # nothing of the panel's environment comes here
file=$POOLDECK_HOME/services/$2
echo "$1 $2" >> "$POOLDECK_HOME/verbs"
case $1 in
stop) sleep 0.2; rm -f "$file" ;;
start) sleep 0.2; readlink "$PREFIX/current" > "$file" ;;
is-active) test -e "$file" ;;
esac
"""


def wheel(folder: Path, version: str) -> Path:
    """Build the wheel of a version."""
    path, meta = folder / f"pooldeck-{version}-py3-none-any.whl", f"pooldeck-{version}.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("small_pooldeck.py", PROGRAM.format(version=version))
        archive.writestr(f"{meta}/METADATA", f"Metadata-Version: 2.1\nName: pooldeck\nVersion: {version}\n")
        archive.writestr(f"{meta}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{meta}/entry_points.txt", "[console_scripts]\npooldeckctl = small_pooldeck:main\n")
        archive.writestr(f"{meta}/RECORD", "")
    return path


class SmallPanel:
    """An installation of version 1.0 in a folder, with a web server that answers for its services."""

    def __init__(self, folder: Path) -> None:
        self.prefix, self.home, self.backups = folder / "opt", folder / "home", folder / "backups"
        (self.home / "services").mkdir(parents=True)
        old = self.prefix / "releases" / "1.0" / "bin"
        old.mkdir(parents=True)
        program = old / "pooldeckctl"
        program.write_text(f"#!{sys.executable}\n{PROGRAM.format(version='1.0')}\nmain()\n")
        program.chmod(0o755)
        (self.prefix / "current").symlink_to("releases/1.0")
        for name, text in (("database", "1.0"), ("pages", "1.0"), ("slow", ""), ("broken", "")):
            (self.home / name).write_text(text)
        for version in ("1.0", "2.0"):
            self.answer(version)
        self.manager = folder / "services"
        self.environment_file = folder / "environment"
        self.environment_file.write_text(f'# of a test\nPOOLDECK_HOME="{self.home}"\nPREFIX={self.prefix}\n')
        self.manager.write_text(SERVICES.format(environment=self.environment_file))
        self.manager.chmod(0o755)
        for unit in START_ORDER:
            (self.home / "services" / unit).write_text("releases/1.0\n")
        self.installer = folder / "installer"
        self.installer.write_text(
            f'#!/bin/sh -e\n{UV} venv -q --python {sys.executable} "$1"\n{UV} pip install -q --python "$1" "$2"\n'
        )
        self.installer.chmod(0o755)
        self.wheel = wheel(folder, "2.0")
        self.serve()

    def answer(self, version: str, *wrong: str) -> None:
        """Let the doctor of a version find these subjects wrong."""
        found = [{"subject": one, "text": "wrong", "is_ok": False, "remedy": "mend it"} for one in wrong]
        (self.home / f"doctor {version}").write_text(json.dumps(found))

    def serve(self) -> None:
        """Answer /healthz/ready with the ages of the services."""
        services, unwell = self.home / "services", self.home / "unwell"

        class Ready(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                running = {path.name: path for path in services.iterdir()}
                names = {"beat": "pooldeck-beat", "tasks": "pooldeck-tasks", "runs": "pooldeck-runs"}
                release = running["pooldeck-web"].read_text().strip() if "pooldeck-web" in running else ""
                is_well = release and not (unwell.exists() and unwell.read_text() == release)
                ages = {
                    name: time.time() - running[unit].stat().st_mtime if unit in running else None
                    for name, unit in names.items()
                }
                self.send_response(200 if is_well else 503)
                self.end_headers()
                self.wfile.write(json.dumps({"ages_s": ages}).encode())

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Ready)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Stop answering."""
        self.server.shutdown()
        self.server.server_close()

    def start_upgrade(self, *words: str) -> "subprocess.Popen[str]":
        """Start `pooldeckctl upgrade` of this checkout on the installation."""
        options = {
            "--prefix": self.prefix,
            "--environment-file": self.environment_file,
            "--backups": self.backups,
            "--user": "",
            "--url": self.url,
            "--health-within": 6,
            "--service-manager": self.manager,
            "--installer": self.installer,
        }
        argv = [sys.executable, "-m", "panel.upgrade", *(word for pair in options.items() for word in map(str, pair))]
        variables = os.environ | {"POOLDECK_HOME": str(self.home), "PREFIX": str(self.prefix), "PYTHONUNBUFFERED": "1"}
        return subprocess.Popen(
            [*argv, *words], cwd=ROOT, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def upgrade(self, *words: str) -> tuple[int, str]:
        """Upgrade to 2.0, or by other words; return the exit code and what was printed."""
        process = self.start_upgrade(*(words or [str(self.wheel)]))
        printed, _ = process.communicate(timeout=120)
        return process.returncode, printed

    def state(self) -> dict[str, object]:
        """Return what an upgrade changes."""
        services = self.home / "services"
        return {
            "current": str((self.prefix / "current").readlink()),
            "database": (self.home / "database").read_text(),
            "pages": (self.home / "pages").read_text(),
            "services": {path.name: path.read_text().strip() for path in sorted(services.iterdir())},
            "unfinished": (self.prefix / "upgrade.json").exists(),
        }


def at(version: str) -> dict[str, object]:
    """Return the state of a panel of which every part is of that version."""
    return {
        "current": f"releases/{version}",
        "database": version,
        "pages": version,
        "services": dict.fromkeys(sorted(START_ORDER), f"releases/{version}"),
        "unfinished": False,
    }
