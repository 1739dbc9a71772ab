"""Chooses the tests without servers that concern files: the tree of tests mirrors that of the source.

`python -m tests.concerned PATH…` prints their modules, those that bear a file's name first. The rules, for each path:

- A test module concerns itself. Another file under `tests/` concerns the tests of its folder.
- A module, or a folder, of an app concerns the room of tests that mirrors its own, else the nearest room above that.
  At the top of an app these are the test modules there, without the rooms beside them.
- A template concerns the views of its app. Documents, scripts, files of `docker/` and settings of the linters have one
  test module each.
- Words on pages and names in code are tested for every module and template.
- What concerns nothing is left to the whole suite, as are all tests in `live/` and `browser/`.
"""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parent.parent
APPS = ("core", "panel", "pools", "benchmarks")
WITH_SERVERS = ("tests/live", "tests/browser", "tests/bench")
# Rooms whose tests lie elsewhere: a form is tested by the pages that show it.
TESTED_IN = {
    "pools/forms": "tests/pools/views",
    "templates/pools": "tests/pools/views",
    "templates/benchmarks": "tests/benchmarks/views",
    "templates/accounts": "tests/core/accounts",
    "templates/api": "tests/core/rest/test_docs.py",
    "templates": "tests/panel/test_dashboard.py",
    "script": "tests/test_script.py",
    ".ci": "tests/test_script.py",
    ".github": "tests/test_script.py",
    "docker": "tests/test_docker.py",
    "docs": "tests/test_docs.py",
    "pyproject.toml": "tests/test_lint_exceptions.py",
    ".pre-commit-config.yaml": "tests/test_script.py",
}
OF_ALL_TEXTS = "tests/panel/test_texts.py"
OF_ALL_NAMES = "tests/panel/test_names.py"


def concerning(paths: Iterable[str], root: Path = ROOT) -> list[str]:
    """Return the test modules, relative to `root`, that concern these paths.

    Those that bear a path's name come first, and those of words before the rest of a room, which may take long.
    """
    named: dict[str, None] = {}
    words: dict[str, None] = {}
    others: dict[str, None] = {}
    for path in map(PurePosixPath, paths):
        modules = [module for room in _rooms(path, root) for module in _modules(root, room)]
        named |= dict.fromkeys(module for module in modules if _bears_name_of(path, module))
        words |= dict.fromkeys(_of_words(path))
        others |= dict.fromkeys(modules)
    return list(named | words | others)


def _rooms(path: PurePosixPath, root: Path) -> Iterator[str]:
    """Yield folders and modules of tests."""
    places = [str(place) for place in (path, *path.parents)]
    if path.parts[0] == "tests":
        yield from () if any(one in places for one in WITH_SERVERS) else _of_tests(path, root)
    elif found := next((TESTED_IN[place] for place in places if place in TESTED_IN), None):
        yield found
    elif path.parts[0] in APPS:
        yield from _mirrored(path, root)
    elif path.suffix == ".md":
        yield TESTED_IN["docs"]


def _of_tests(path: PurePosixPath, root: Path) -> Iterator[str]:
    if path.name.startswith("test_") or (root / path).is_dir():
        yield str(path)
    elif str(path.parent) != "tests":  # what all tests use is left to the suite
        yield str(path.parent)


def _mirrored(path: PurePosixPath, root: Path) -> Iterator[str]:
    room = path if (root / path).is_dir() else path.parent
    while not (root / "tests" / room).is_dir():
        room = room.parent
    if str(room) not in APPS:
        yield f"tests/{room}"
    else:
        yield from (str(one.relative_to(root)) for one in sorted((root / "tests" / room).glob("test_*.py")))


def _modules(root: Path, room: str) -> list[str]:
    found = (root / room).rglob("test_*.py") if (root / room).is_dir() else [root / room]
    return sorted(str(module.relative_to(root)) for module in found)


def _bears_name_of(path: PurePosixPath, module: str) -> bool:
    """Test whether a test module is named after a module or template: `pool_list.html` and `pools.py` are alike."""
    name = PurePosixPath(module).stem.removeprefix("test_")
    stem = path.stem.removesuffix("_list").removesuffix("_detail").removesuffix("_form")
    return str(path) == module or name in (path.stem, stem, f"{stem}s") or name.startswith(f"{stem}_")


def _of_words(path: PurePosixPath) -> list[str]:
    if path.parts[0] == "templates":
        return [OF_ALL_TEXTS]
    return [OF_ALL_TEXTS, OF_ALL_NAMES] if path.parts[0] in APPS else []


if __name__ == "__main__":
    print(*concerning(sys.argv[1:]), sep="\n")
