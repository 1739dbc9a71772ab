"""Certificate authorities kept as files for libpq."""

import stat
from pathlib import Path
from typing import Any

import pytest

from pools.clusters import ca_files
from tests.certificates import self_signed


@pytest.fixture
def home(settings: Any, tmp_path: Path) -> Path:
    settings.HOME = tmp_path
    return tmp_path


def test_the_text_lies_in_a_private_file_named_by_its_content(home: Path) -> None:
    path = Path(ca_files.path_of("one"))
    assert path.read_text() == "one"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert ca_files.path_of("one") == str(path)
    assert ca_files.path_of("two") != str(path)
    assert len(list(path.parent.iterdir())) == 2


def test_certificates_are_told_from_other_text() -> None:
    key, certificate = self_signed("localhost")
    assert ca_files.problem(certificate + certificate) == ""
    for text in ("", "hello", key, certificate[:100]):
        assert ca_files.problem(text).startswith("this is not a certificate in PEM: paste the text from")
