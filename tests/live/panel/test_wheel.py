"""The wheel in an empty virtual environment: its demo is that of script/up, without a checkout."""

import subprocess
import urllib.request
from pathlib import Path

import pytest

from tests.installation import Installation
from tests.test_wheel import UV, build


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """The programs of an environment in which only the wheel was installed."""
    environment = tmp_path / "venv"
    subprocess.run([UV, "venv", "--quiet", "--python", "/usr/bin/python3", environment], check=True)
    python = environment / "bin" / "python"
    subprocess.run([UV, "pip", "install", "--quiet", "--python", python, build(tmp_path)], check=True)
    return environment / "bin"


@pytest.mark.slow
def test_its_demo_serves_pages_and_verifies_its_pool(programs: Path, tmp_path: Path) -> None:
    with Installation(tmp_path / "home", program=(str(programs / "pooldeck"), "demo")) as panel:
        with urllib.request.urlopen(f"{panel.url}/login/") as answer:
            page = answer.read().decode()
        assert "vendor/tabler/css/tabler.min." in page
        (pool,) = panel.api.get("pools/")["results"]
        assert pool["state"] == "applied"
