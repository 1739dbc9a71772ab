"""Which tests script/check runs: those of the room that mirrors a file's own."""

from pathlib import Path

import pytest

from tests.concerned import OF_ALL_NAMES, OF_ALL_TEXTS, ROOT, TESTED_IN, concerning


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A small project."""
    for path in (
        "pools/poolers/pgbouncer/hba.py",
        "pools/poolers/haproxy/driver.py",
        "pools/views/pools.py",
        "pools/errors.py",
        "tests/conftest.py",
        "tests/pools/records.py",
        "tests/pools/test_tasks.py",
        "tests/pools/poolers/test_registry.py",
        "tests/pools/poolers/pgbouncer/test_render.py",
        "tests/pools/poolers/pgbouncer/test_hba_lists.py",
        "tests/pools/poolers/pgbouncer/test_hba.py",
        "tests/pools/views/test_clusters.py",
        "tests/pools/views/test_pools.py",
        "tests/live/pools/test_apply.py",
    ):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    return tmp_path


def of_rooms(tree: Path, *paths: str) -> list[str]:
    """Without the tests of all words."""
    return [one for one in concerning(paths, tree) if one not in (OF_ALL_TEXTS, OF_ALL_NAMES)]


def test_a_module_concerns_its_room_and_the_tests_that_bear_its_name_come_first(tree: Path) -> None:
    assert of_rooms(tree, "pools/poolers/pgbouncer/hba.py") == [
        "tests/pools/poolers/pgbouncer/test_hba.py",
        "tests/pools/poolers/pgbouncer/test_hba_lists.py",
        "tests/pools/poolers/pgbouncer/test_render.py",
    ]


def test_a_room_without_tests_concerns_the_nearest_above_it(tree: Path) -> None:
    assert "tests/pools/poolers/test_registry.py" in of_rooms(tree, "pools/poolers/haproxy/driver.py")


def test_at_the_top_of_an_app_the_rooms_beside_are_left_out(tree: Path) -> None:
    assert of_rooms(tree, "pools/errors.py") == ["tests/pools/test_tasks.py"]


def test_a_template_concerns_the_views_of_its_app_first_those_of_its_name(tree: Path) -> None:
    assert concerning(["templates/pools/pool_list.html"], tree) == [
        "tests/pools/views/test_pools.py",
        OF_ALL_TEXTS,
        "tests/pools/views/test_clusters.py",
    ]


def test_words_are_tested_for_each_module_before_the_rest_of_its_room(tree: Path) -> None:
    assert concerning(["pools/views/pools.py"], tree) == [
        "tests/pools/views/test_pools.py",
        OF_ALL_TEXTS,
        OF_ALL_NAMES,
        "tests/pools/views/test_clusters.py",
    ]


def test_a_test_concerns_itself_and_what_tests_share_concerns_its_folder(tree: Path) -> None:
    assert concerning(["tests/pools/views/test_pools.py"], tree) == ["tests/pools/views/test_pools.py"]
    assert "tests/pools/test_tasks.py" in concerning(["tests/pools/records.py"], tree)


@pytest.mark.parametrize("path", ["tests/live/pools/test_apply.py", "tests/conftest.py", "uv.lock", "static/css/a.css"])
def test_what_needs_servers_or_concerns_everything_is_left_to_the_suite(tree: Path, path: str) -> None:
    assert concerning([path], tree) == []


def test_several_paths_name_each_test_once(tree: Path) -> None:
    found = concerning(["pools/views/pools.py", "templates/pools/pool_list.html", "pools/forms/records.py"], tree)
    assert len(found) == len(set(found))
    assert found[0] == "tests/pools/views/test_pools.py"


def test_the_rooms_with_tests_elsewhere_are_there() -> None:
    assert [one for pair in TESTED_IN.items() for one in pair if not (ROOT / one).exists()] == []
