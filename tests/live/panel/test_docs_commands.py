"""The commands of the documentation's pages work, page by page, beside a demo as script/up starts it.

A page's blocks ```sh are one script of bash in a folder that looks like the checkout: `var` there is the demo's home.
The address http://127.0.0.1:8000 is that of the demo. A block below the line <!-- not run: REASON --> is left out.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from panel.quickstart.ports import free_port
from tests.docs_blocks import PAGES, ROOT, named, run_by_a_test
from tests.installation import Installation
from tests.programs import heads

WITH_COMMANDS = [page for page in PAGES if run_by_a_test(page)]
WITHIN_S = 240


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    with Installation(tmp_path_factory.mktemp("home"), "--port", str(free_port())) as started:
        yield started


@pytest.fixture
def checkout(installation: Installation, tmp_path: Path) -> Path:
    """A folder with what a checkout has, in which commands may write."""
    for entry in ROOT.iterdir():
        if entry.name not in ("var", "build", ".git"):
            (tmp_path / entry.name).symlink_to(entry)
    (tmp_path / "var").symlink_to(installation.home)
    return tmp_path


def environment(installation: Installation) -> dict[str, str]:
    """That of the demo's worker, in which `python` is that of the tests."""
    of_worker = Path(f"/proc/{heads(installation)['worker']}/environ").read_text()
    given = dict(variable.split("=", 1) for variable in of_worker.split("\0") if variable)
    return given | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "HOME": str(installation.home)}


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=named)
def test_the_commands_of_a_page_work(page: Path, installation: Installation, checkout: Path) -> None:
    script = run_by_a_test(page).replace("http://127.0.0.1:8000", installation.url)
    done = subprocess.run(
        ["bash", "-euxo", "pipefail", "-c", script],
        cwd=checkout,
        env=environment(installation),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
