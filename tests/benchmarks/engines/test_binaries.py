"""What is said of engines that can't be run on this host."""

import pytest

from benchmarks import engines
from benchmarks.engines.binaries import ProgramMissing, ask, on_path
from tests.benchmarks.conftest import Warp


def test_a_missing_program_is_sought_once_a_minute(warp: Warp) -> None:
    assert [engines.missing("warp") for _ in range(3)] == ["no warp here: install it"] * 3
    assert (warp.asked, engines.missing("http")) == (1, "")


def test_a_program_is_asked_for_its_version() -> None:
    found = ask(on_path("sh", "install a shell"), "-c", "echo warp 12.3.4", pattern="warp ([0-9.]+)")
    assert (found.version_text, found.version) == ("warp 12.3.4", (12, 3))


@pytest.mark.parametrize(
    ("words", "reason"),
    [(("-c", "exit 3"), "can't be run"), (("-c", "echo weft"), r"answers 'weft\\n' to -c echo weft")],
)
def test_what_does_not_answer_is_missing(words: tuple[str, ...], reason: str) -> None:
    with pytest.raises(ProgramMissing, match=reason):
        ask("/bin/sh", *words, pattern="warp ([0-9.]+)")


def test_a_program_that_is_not_there_is_told_with_the_remedy() -> None:
    with pytest.raises(ProgramMissing, match="no such-program on the PATH of this host: install it"):
        on_path("such-program", "install it")
