"""The documentation site: it builds without a warning, and its pages need nothing that the panel's policy forbids."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.docs_blocks import DOCS, PAGES, ROOT, blocks, named


class Links(HTMLParser):
    """What a page links to and loads, the anchors in it, and what it has inline."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.anchors: set[str] = set()
        self.inline: list[str] = []
        self.feed(page.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.targets += [value for name in ("href", "src") if (value := given.get(name))]
        self.anchors |= {value for name in ("id", "name") if (value := given.get(name))}
        self.inline += [name for name in given if name == "style" or name.startswith("on")]
        if tag == "style" or (tag == "script" and "src" not in given):
            self.inline.append(tag)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the built pages."""
    folder = tmp_path_factory.mktemp("site")
    argv = [
        sys.executable,
        "-m",
        "sphinx",
        "--quiet",
        "--fail-on-warning",
        "--keep-going",
        "docs",
        str(folder / "html"),
    ]
    done = subprocess.run([*argv, "-d", str(folder / "trees")], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.stderr, done.returncode) == ("", 0)
    return folder / "html"


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Links]:
    return {page: Links(page) for page in site.rglob("*.html")}


def test_each_source_is_a_page(site: Path) -> None:
    wanted = {path.relative_to(DOCS).with_suffix(".html") for path in PAGES}
    assert sorted(path for path in wanted if not (site / path).is_file()) == []


def test_no_link_is_dead(pages: dict[Path, Links]) -> None:
    assert [
        (page.name, target) for page, links in pages.items() for target in links.targets if dead(page, target, pages)
    ] == []


def dead(page: Path, target: str, pages: dict[Path, Links]) -> bool:
    """Test whether a link within the site leads to no file, or to no place of its page."""
    if re.match(r"[a-z]+:|//", target):
        return False
    path, _, anchor = target.partition("#")
    to = (page.parent / path.partition("?")[0]).resolve() if path else page
    return not to.is_file() or (bool(anchor) and to in pages and anchor not in pages[to].anchors)


def test_a_dead_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "one.html"
    page.write_text('<h1 id="here"><a href="#here"></a><a href="#there"></a><a href="two.html"></a>')
    pages = {page: Links(page)}
    assert [target for target in pages[page].targets if dead(page, target, pages)] == ["#there", "two.html"]


def test_pages_have_no_inline_styles_and_scripts(pages: dict[Path, Links]) -> None:
    assert {page.name: links.inline for page, links in pages.items() if links.inline} == {}


def test_nothing_is_loaded_from_elsewhere(site: Path, pages: dict[Path, Links]) -> None:
    loaded = re.compile(r'<(?:script|img|link|iframe)[^>]+(?:src|href)="(https?:)?//')
    assert [page.name for page in pages if loaded.search(page.read_text())] == []


def test_the_index_for_language_models_has_each_page(site: Path) -> None:
    listed = re.findall(r"(?m)^- \[.+\]\((\S+)\): \S", (site / "llms.txt").read_text())
    assert sorted(listed) == sorted(
        str(path.relative_to(DOCS).with_suffix(".html")) for path in PAGES if path.stem != "index"
    )


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_commands_are_sound_bash(page: Path) -> None:
    for block in blocks(page.read_text()):
        if block.language == "sh":
            checked = subprocess.run(["bash", "-n"], input=block.text, capture_output=True, text=True, check=False)
            assert checked.stderr == "", block
