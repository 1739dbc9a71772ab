"""What each kind of process needs to start: only the web process has the key that signs sessions."""

import os
import subprocess
import sys
from pathlib import Path

from cryptography.fernet import Fernet


def started(home: Path, statement: str, **given: str) -> tuple[int, str]:
    """The exit code and the last line of a process of the panel without the key of sessions."""
    kept = {name: os.environ[name] for name in ("PATH", "TMPDIR") if name in os.environ}
    settings = {"DJANGO_SETTINGS_MODULE": "panel.settings", "POOLDECK_HOME": str(home)}
    keys = {"POOLDECK_KEYS": Fernet.generate_key().decode()}
    done = subprocess.run(
        [sys.executable, "-c", statement],
        env=kept | settings | keys | given,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, (done.stdout + done.stderr).strip().splitlines()[-1]


def test_a_worker_needs_no_key_of_sessions_and_obeys_no_remote_control(tmp_path: Path) -> None:
    ask = "from panel import celery_app as app; app.loader.import_default_modules(); print(app.conf.{})"
    assert started(tmp_path, ask.format("worker_enable_remote_control")) == (0, "False")


def test_the_web_process_needs_it(tmp_path: Path) -> None:
    code, reported = started(tmp_path, "import panel.asgi")
    assert code == 1
    assert f"POOLDECK_SECRET_KEY (or the file secret_key in {tmp_path}) is needed by the web process" in reported
    assert started(tmp_path, "import panel.asgi", POOLDECK_SECRET_KEY="x" * 60)[0] == 0


def test_half_of_the_files_that_sign_messages_is_refused(tmp_path: Path) -> None:
    code, reported = started(tmp_path, "import panel.settings", POOLDECK_MESSAGE_KEY="/etc/pooldeck/message.key")
    assert code == 1
    assert reported.endswith("belong together: set all three, or none")
