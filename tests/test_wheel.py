"""The wheel: what it holds beside the code, and that it runs where there is no checkout."""

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from cryptography.fernet import Fernet

from panel.staticfiles import JOINED

ROOT = Path(__file__).resolve().parent.parent
UV = ROOT / ".venv" / "tools" / "bin" / "uv"


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the wheel holds."""
    parent = tmp_path_factory.mktemp("wheel")
    folder = parent / "unpacked"
    zipfile.ZipFile(build(parent)).extractall(folder)
    return folder


def build(folder: Path) -> Path:
    """Build the wheel of this checkout, which has its documentation."""
    subprocess.run([ROOT / "script" / "docs"], check=True)
    subprocess.run([UV, "build", "--quiet", "--wheel", "--out-dir", folder], cwd=ROOT, check=True)
    (found,) = folder.glob("pooldeck-*.whl")
    return found


def of_git(*paths: str) -> set[str]:
    listed = subprocess.run(["git", "ls-files", "-z", *paths], cwd=ROOT, capture_output=True, text=True, check=True)
    return {path for path in listed.stdout.split("\0") if path}


def test_it_holds_each_file_of_the_packages_and_of_their_pages(unpacked: Path) -> None:
    code = of_git("core", "panel", "pools", "benchmarks")
    pages = of_git("templates", "static/css", "static/js", "static/img", "docs/pull")
    wanted = code | {f"panel/share/{path}" for path in pages}
    wanted |= {"panel/share/build/docs/index.html", "panel/share/build/docs/llms.txt"}
    assert sorted(path for path in wanted if not (unpacked / path).is_file()) == []


def test_it_holds_the_versions_and_hashes_of_the_lock_file(unpacked: Path) -> None:
    held = (unpacked / "panel" / "share" / "requirements.txt").read_text()
    words = ["export", "--quiet", "--frozen", "--no-dev", "--no-emit-project", "--no-annotate", "--no-header"]
    exported = subprocess.run([UV, *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert held == exported
    assert re.search(r"^django==5\.2\.\d+ \\\n    --hash=sha256:", held, re.MULTILINE)


def run(unpacked: Path, *words: str) -> str:
    """Run Python with the unpacked wheel, away from the checkout, and return what it prints."""
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(unpacked),
        "POOLDECK_HOME": str(unpacked.parent / "home"),
        "POOLDECK_KEYS": Fernet.generate_key().decode(),
        "DJANGO_SETTINGS_MODULE": "panel.settings",
    }
    argv = [sys.executable, "-P", *words]
    done = subprocess.run(argv, env=environment, cwd=unpacked.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_it_finds_the_files_that_pages_load(unpacked: Path) -> None:
    names = sorted({*JOINED, "vendor/tabler/css/tabler.min.css"})
    found = run(unpacked, "-m", "django", "findstatic", "--first", "--verbosity=0", *names).split()
    assert len(found) == len(names)
    assert all(path.startswith(str(unpacked)) for path in found)


def test_its_demo_is_script_up(unpacked: Path) -> None:
    command = "from panel.control import pooldeck; pooldeck()"
    told = run(unpacked, "-c", command, "demo", "--help")
    assert told.startswith("usage: pooldeck demo")
    assert str(unpacked.parent / "home") in told.replace("\n", "").replace("  ", "")
