"""The operator's file of commands: what is read, and how its faults are named."""

from pathlib import Path
from typing import Any

import pytest

from pools.inventory import create_file
from pools.inventory.create_file import CreateEntry, InvalidCreateFile

WHOLE = """
[[create]]
size = "small"
region = "nyc1"
versions = ["15", "17"]
command = ["/usr/local/bin/make-cluster", "--fast"]
delete = ["drop-cluster"]
pooler = "front"
drop_on_return = true
timeout_s = 60

[[create]]
size = "large"
region = "nyc1"
command = ["make-cluster"]
"""
LEAST = 'size = "small"\nregion = "nyc1"\ncommand = ["make"]\n'


def test_every_key_is_read() -> None:
    assert create_file.parse(WHOLE) == [
        CreateEntry(
            size="small",
            region="nyc1",
            command=("/usr/local/bin/make-cluster", "--fast"),
            delete=("drop-cluster",),
            versions=("15", "17"),
            pooler="front",
            drop_on_return=True,
            timeout_s=60,
        ),
        CreateEntry(size="large", region="nyc1", command=("make-cluster",)),
    ]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[[create]\n", "not TOML"),
        ("", "line 1, create: 'create' is a required property"),
        ('[[create]]\nregion = "nyc1"\ncommand = ["make"]\n', "line 1, create.0: 'size' is a required property"),
        (f'[[create]]\n{LEAST}color = "red"\n', "line 1, create.0: Additional properties"),
        ('[[create]]\nsize = "Small"\nregion = "nyc1"\ncommand = ["make"]\n', "line 2, create.0.size: 'Small'"),
        ('[[create]]\nsize = "s"\nregion = "nyc1"\ncommand = "make"\n', "line 4, create.0.command: 'make'"),
        ('[[create]]\nsize = "s"\nregion = "nyc1"\ncommand = []\n', "line 4, create.0.command: []"),
        (f"[[create]]\n{LEAST}versions = [15]\n", "line 5, create.0.versions.0: 15"),
        (f"[[create]]\n{LEAST}timeout_s = 0\n", "line 5, create.0.timeout_s: 0"),
        (f'[[create]]\n{LEAST}delete = ["bin/drop"]\n', "line 5, create.0.delete: bin/drop is a relative path"),
        (f"[[create]]\n{LEAST}[[create]]\n{LEAST}", "line 6, create.1.size: size small in region nyc1"),
        (f"[[create]]\n{LEAST}[settings]\nx = 1\n", "Additional properties"),
    ],
)
def test_a_fault_names_key_and_line(text: str, named: str) -> None:
    with pytest.raises(InvalidCreateFile) as error:
        create_file.parse(text)
    assert named in str(error.value)


def test_tables_of_one_size_may_offer_different_versions() -> None:
    text = f'[[create]]\n{LEAST}versions = ["15"]\n[[create]]\n{LEAST}versions = ["16"]\n'
    assert [entry.versions for entry in create_file.parse(text)] == [("15",), ("16",)]


@pytest.mark.parametrize(
    ("asked", "offered"),
    [
        (("small", "nyc1", "15"), True),
        (("SMALL", "NYC1", ""), True),
        (("", "", ""), True),
        (("small", "nyc1", "16"), False),
        (("small", "ams3", "15"), False),
        (("medium", "nyc1", "15"), False),
    ],
)
def test_an_offer_is_for_its_size_region_and_versions(asked: tuple[str, str, str], offered: bool) -> None:
    entry = CreateEntry(size="small", region="nyc1", command=("make",), versions=("15", "17"))
    assert entry.offers(*asked) is offered


def test_the_newest_version_is_created_where_none_is_asked_for() -> None:
    entry = CreateEntry(size="small", region="nyc1", command=("make",), versions=("9", "17", "15"))
    assert (entry.version_for(""), entry.version_for("15")) == ("17", "15")
    assert CreateEntry(size="small", region="nyc1", command=("make",)).version_for("") == ""


def test_no_file_offers_nothing(settings: Any) -> None:
    settings.CREATE_FILE = ""
    assert create_file.entries() == []


def test_a_file_that_others_can_write_is_refused(tmp_path: Path, settings: Any) -> None:
    path = tmp_path / "create.toml"
    path.write_text(WHOLE)
    settings.CREATE_FILE = str(path)
    path.chmod(0o620)
    with pytest.raises(InvalidCreateFile, match="chmod go-w"):
        create_file.entries()
    path.chmod(0o600)
    assert len(create_file.entries()) == 2
    path.unlink()
    with pytest.raises(InvalidCreateFile, match="can't be read"):
        create_file.entries()
