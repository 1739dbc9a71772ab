"""The documents: their links lead somewhere, and what they name is there."""

import os
import re
from itertools import chain
from pathlib import Path

import pytest
from django.core.management import get_commands

from tests.conftest import part_of

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "tests").glob("*.md")])
DEVELOPMENT = sorted((ROOT / "docs/development").glob("*.md"))
GUIDES = [*DEVELOPMENT, *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "tests/README.md"))]
LINK = re.compile(r"\]\(([^)\s]+)\)")
SOURCES = ("benchmarks", "core", "panel", "pools", "script", "static", "templates", "tests", "docker", "docs")
NAMED = re.compile(rf"`((?:{'|'.join(SOURCES)}|\.ci|\.github)/[\w./-]*)[^`\n]*`")
CODE = re.compile(r"(?ms)^```\w*\n(.*?)^```$|`([^`\n]+)`")
STARTED_MODULE = re.compile(r"\bpython -m ((?:benchmarks|core|panel|pools|tests)[\w.]*)")
MANAGED = re.compile(r"\bmanage\.py (\w+)")
SCRIPT = re.compile(r"(?m)(?:^|\s)((?:script|\.ci)/[\w-]+)")
# of a step in a path: `poolers/pgbouncer/session`, or a module's own name
STEP = re.compile(r"[a-z_]+(?:/[a-z_]+)*/?")


def named(document: Path) -> str:
    return str(document.relative_to(ROOT))


def without_code(text: str) -> str:
    return re.sub(r"(?ms)^```.*?^```$|`[^`\n]*`", "", text)


def anchors(document: Path) -> set[str]:
    """The anchors of a document's headings, as GitHub makes them."""
    headings = re.findall(r"(?m)^#+ (.+)$", document.read_text())
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken(document: Path) -> list[str]:
    found = []
    for target in LINK.findall(without_code(document.read_text())):
        path, _, anchor = target.partition("#")
        to = (document.parent / path) if path else document
        if re.match(r"[a-z]+:", target):
            continue
        if not to.exists() or (anchor and anchor not in anchors(to)):
            found.append(target)
    return found


@pytest.mark.parametrize("document", DOCUMENTS, ids=named)
def test_links_lead_to_files_and_headings_that_are_there(document: Path) -> None:
    assert broken(document) == []


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    document = tmp_path / "one.md"
    document.write_text(
        "# One thing\n[a](#one-thing) [b](#another) [c](two.md) `[d](code.md)` [e](https://example.org)\n"
    )
    assert broken(document) == ["#another", "two.md"]


def test_the_readme_of_the_tests_has_each_part() -> None:
    explained = re.findall(r"(?m)^\| `([\w/]+)/` \|", (ROOT / "tests/README.md").read_text())
    modules = [str(one.relative_to(ROOT)) for one in (ROOT / "tests").rglob("test_*.py")]
    parts = {part_of(module).removeprefix("tests").lstrip("/") for module in modules} - {""}
    assert parts == set(explained) - {"bench"}


@pytest.mark.parametrize("document", GUIDES, ids=named)
def test_files_that_documents_for_developers_name_are_there(document: Path) -> None:
    assert [path for path in NAMED.findall(document.read_text()) if not is_there(path)] == []


def is_there(path: str) -> bool:
    """Test for a file, a folder or a module; `NAME` stands for the name of any kind or engine."""
    pattern = path.rstrip("/").replace("NAME", "*")
    return any(True for _ in chain(ROOT.glob(pattern), ROOT.glob(f"{pattern}.py")))


def test_a_file_that_is_gone_is_found() -> None:
    paths = ["tests/test_docs.py", "tests/test_docs", "pools/poolers/NAME/driver.py", "pools/views/"]
    assert [path for path in [*paths, "tests/gone.py", "pools/poolers/NAME/gone.py"] if not is_there(path)] == [
        "tests/gone.py",
        "pools/poolers/NAME/gone.py",
    ]


@pytest.mark.parametrize("document", GUIDES, ids=named)
def test_commands_that_documents_for_developers_name_are_there(document: Path) -> None:
    assert unknown_commands(document.read_text()) == []


def unknown_commands(text: str) -> list[str]:
    """Scripts that can't be run, modules that can't be started, and commands that manage.py does not have."""
    code = "\n".join(block or inline for block, inline in CODE.findall(text))
    scripts = [name for name in SCRIPT.findall(code) if not os.access(ROOT / name, os.X_OK)]
    modules = [name for name in STARTED_MODULE.findall(code) if not _can_be_started(name)]
    return [*scripts, *modules, *(name for name in MANAGED.findall(code) if name not in get_commands())]


def _can_be_started(module: str) -> bool:
    path = ROOT / module.replace(".", "/")
    return path.with_suffix(".py").is_file() or (path / "__main__.py").is_file()


def test_an_unknown_command_is_found() -> None:
    text = "Run `script/check`, `script/chekc`, `python -m tests.nothing`.\n```sh\npython manage.py migrat  # so\n```\n"
    assert unknown_commands(text) == ["script/chekc", "tests.nothing", "migrat"]


def test_each_module_of_the_paths_through_the_code_is_there() -> None:
    text = (ROOT / "docs/development/paths.md").read_text()
    lines = chain.from_iterable(block.splitlines() for block in re.findall(r"(?ms)^```\n(.*?)^```$", text))
    words = chain.from_iterable(re.split(r"[→,;]", re.sub(r"\([^)]*\)", "", line[24:])) for line in lines)
    modules = [word.strip() for word in words if STEP.fullmatch(word.strip())]
    assert len(modules) > 50
    assert [module for module in modules if not _is_there(module)] == []


def _is_there(module: str) -> bool:
    apps = [ROOT / "pools", ROOT / "benchmarks"]
    paths = [f"{module}.py", f"{module}/__init__.py", f"**/{module}.py", f"**/{module.rstrip('/')}/__init__.py"]
    return any(any(app.glob(path)) for app in apps for path in paths)


def test_every_document_for_developers_is_reached_from_contributing() -> None:
    reached, left = set(), [ROOT / "CONTRIBUTING.md"]
    while left:
        document = left.pop()
        if document in reached or document.suffix != ".md":
            continue
        reached.add(document)
        targets = LINK.findall(without_code(document.read_text()))
        left += [(document.parent / target.partition("#")[0]).resolve() for target in targets if target[:1] != "#"]
    assert set(DEVELOPMENT) <= reached
    assert ROOT / "CONTRIBUTING.md" in {(ROOT / one) for one in LINK.findall((ROOT / "README.md").read_text())}
