"""Which engines the forms offer, and what they say of those that can't be run here."""

from types import ModuleType

import pytest
from django.test import Client

from benchmarks.engines import ENGINES, availability, pgbench
from benchmarks.engines.programs import Program, ProgramMissing, ask, on_path
from tests.callers import person


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is remembered from other tests."""
    monkeypatch.setattr(availability, "_answers", {})


@pytest.fixture
def warp(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """An engine whose program is missing; `asked` counts how often it was sought."""
    warp = ModuleType("warp")
    warp.asked = 0  # type: ignore[attr-defined]

    def find() -> Program:
        warp.asked += 1  # type: ignore[attr-defined]
        raise ProgramMissing("no warp here: install it")

    warp.find = find  # type: ignore[attr-defined]
    warp.fields_for = lambda purpose: pgbench.fields_for(purpose) if purpose == "load" else ()  # type: ignore[attr-defined]
    monkeypatch.setitem(ENGINES, "warp", warp)
    return warp


def test_a_missing_program_is_sought_once_a_minute(warp: ModuleType) -> None:
    assert [availability.missing("warp") for _ in range(3)] == ["no warp here: install it"] * 3
    assert (warp.asked, availability.missing("http")) == (1, "")


def test_an_engine_is_offered_for_what_it_can_do(warp: ModuleType) -> None:
    assert ("warp", "no warp here: install it") in availability.links("load")
    assert [name for name, _ in availability.links("prepare")] == ["pgbench", "sysbench", "http"]


@pytest.mark.usefixtures("db", "warp")
def test_the_form_tells_why_an_engine_can_not_be_chosen_and_keeps_the_target(client: Client) -> None:
    client.force_login(person())
    page = client.get("/runs/new/", {"database": "shop"}).content.decode()
    assert 'title="no warp here: install it"' in page
    assert "?engine=warp" not in page
    assert "database=shop&amp;engine=http" in page


def test_a_program_is_asked_for_its_version() -> None:
    found = ask(on_path("sh", "install a shell"), "-c", "echo warp 12.3.4", said="warp ([0-9.]+)")
    assert (found.version_text, found.version) == ("warp 12.3.4", (12, 3))


@pytest.mark.parametrize(
    ("words", "reason"),
    [(("-c", "exit 3"), "can't be run"), (("-c", "echo weft"), r"answers 'weft\\n' to -c echo weft")],
)
def test_what_does_not_answer_is_missing(words: tuple[str, ...], reason: str) -> None:
    with pytest.raises(ProgramMissing, match=reason):
        ask("/bin/sh", *words, said="warp ([0-9.]+)")


def test_a_program_that_is_not_there_is_told_with_the_remedy() -> None:
    with pytest.raises(ProgramMissing, match="no such-program on the PATH of this host: install it"):
        on_path("such-program", "install it")
