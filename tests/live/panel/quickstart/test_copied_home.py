"""A home that was copied while the original goes on: the copy touches nothing until a person resumes it."""

import hashlib
import subprocess
import time
from pathlib import Path

import pytest

from panel.quickstart.ports import free_port
from tests.installation import Installation, Refused

BEATS_S = 12  # two rounds of what applies what waits


def contents(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if (path.is_file() and path.suffix in (".ini", ".conf", ".txt", ".passwd")) or path.name == "pool_passwd"
    }


def pooler_of(installation: Installation, kind: str) -> dict[str, object]:
    found = installation.api.get(f"poolers/?kind={kind}")["results"]
    assert len(found) == 1
    return dict(found[0])


@pytest.mark.slow
def test_a_copy_waits_for_a_person_and_never_writes_to_the_original(tmp_path: Path) -> None:
    original_home, copied_home = tmp_path / "original", tmp_path / "copy"
    tmp_path.chmod(0o711)
    with Installation(original_home, "--port", str(free_port())):
        pass
    subprocess.run(["cp", "-a", str(original_home), str(copied_home)], check=True)
    with (
        Installation(original_home, "--port", str(free_port())) as original,
        Installation(copied_home, "--port", str(free_port())) as copy,
    ):
        assert original.api.get("installation/")["paused_at"] is None
        found = copy.api.get("installation/")
        assert found["paused_because"] == f"its home was {original_home} and is now {copied_home}"
        assert any("paused, as this may be a copy" in line for line in copy.lines)
        before = contents(original_home / "pgbouncer")
        assert "config/pgbouncer.ini" in before
        assert str(original_home) not in (copied_home / "pgbouncer" / "config" / "pgbouncer.ini").read_text()
        pgbouncer = pooler_of(copy, "pgbouncer")
        assert pgbouncer["config_dir"] == str(copied_home / "pgbouncer" / "config")
        (demo,) = copy.api.get("pools/?search=app")["results"]
        asked = {name: demo[name] for name in ("cluster", "pooler", "database", "user", "mode")}
        pool = copy.api.post("pools/", {**asked, "name": "of_the_copy", "size": 2})
        time.sleep(BEATS_S)
        assert copy.api.get(f"pools/{pool['id']}/")["state"] == "pending"
        assert copy.api.get(f"poolers/{pgbouncer['id']}/config/")["state"] == "unverified"
        with pytest.raises(Refused, match="the panel is paused"):
            copy.api.post(f"pools/{demo['id']}/pause/")
        copy.api.post("installation/resume/")
        copy.api.wait(f"pools/{pool['id']}/", "state", {"applied"}, 60)
        assert copy.api.get(f"poolers/{pgbouncer['id']}/config/")["state"] == "in sync"
        assert contents(original_home / "pgbouncer") == before
        assert "of_the_copy" not in (original_home / "pgbouncer" / "config" / "pgbouncer.ini").read_text()
        (pooler,) = original.api.get("poolers/?kind=pgbouncer")["results"]
        assert original.api.get(f"poolers/{pooler['id']}/config/")["state"] == "in sync"
