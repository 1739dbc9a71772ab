"""What an account without rights of its own can start."""

import sys
from pathlib import Path

from benchmarks.processes.process import is_reachable


def test_a_program_in_an_open_folder_can_be_started() -> None:
    assert is_reachable("/bin/sh")
    assert not is_reachable("/nowhere/sh")


def test_a_link_in_a_closed_folder_is_out_of_reach_though_what_it_leads_to_is_not(tmp_path: Path) -> None:
    for folder in (tmp_path, *tmp_path.parents[:-2]):
        folder.chmod(0o755)
    link = tmp_path / "environment" / "python"
    link.parent.mkdir(mode=0o755)
    link.symlink_to(Path(sys.executable).resolve())
    assert is_reachable(str(link)) == is_reachable(str(Path(sys.executable).resolve()))
    link.parent.chmod(0o700)
    assert not is_reachable(str(link))
