"""The addresses of settings against the manuals that the packages bring: each has the anchor that a link names."""

import gzip
import os
import re
from collections import Counter
from pathlib import Path
from urllib.parse import unquote

import pytest

from pools.poolers import KINDS
from pools.poolers.settings_schema import Setting

ROOTS = [Path("/"), *(Path(root) for name in ("TRIXIE", "SID") if (root := os.environ.get(f"POOLDECK_TEST_{name}")))]
NEWEST = (1, 26)
PGBOUNCER, PGPOOL, HAPROXY = "man/man5/pgbouncer.5.gz", "doc/pgpool2/index.html", "doc/haproxy/configuration.txt.gz"


def manuals(name: str) -> list[Path]:
    """Return the manuals of this name in the installations; skip the test where packages come without them."""
    found = [path for root in ROOTS if (path := root / "usr/share" / name).exists()]
    if not found:
        pytest.skip(f"no package here brings {name}")
    return found


def settings_of(kind: str, release: tuple[int, int]) -> list[Setting]:
    return [one for one in KINDS[kind].catalog if one.known_to(release)]


def anchors_of_pgbouncer(page: str) -> set[str]:
    """Return the anchors as the web page has them: the second heading of a name gets -1, the third -2."""
    seen: Counter[str] = Counter()
    found = set()
    for heading in re.findall(r"^\.S[HS] (.+)$", page, re.MULTILINE):
        anchor = re.sub(r"[^\w -]", "", heading.replace("\\-", "-").lower()).replace(" ", "-")
        found.add(f"{anchor}-{seen[anchor]}" if seen[anchor] else anchor)
        seen[anchor] += 1
    return found


def release_in(text: str, pattern: str) -> tuple[int, int]:
    found = re.search(pattern, text)
    assert found
    return int(found[1]), int(found[2])


def test_the_newest_manual_of_pgbouncer_has_each_anchor() -> None:
    page = gzip.decompress(manuals(PGBOUNCER)[-1].read_bytes()).decode()
    release = release_in(page, r'(?m)^\.TH .* "(\d+)\.(\d+)\.')
    if release < NEWEST:
        pytest.skip(f"the web has the manual of {NEWEST}, and the packages here that of {release}")
    anchors = anchors_of_pgbouncer(page)
    named = [one.manual for one in settings_of("pgbouncer", release)]
    assert [manual for manual in named if manual[1:] not in anchors] == []


@pytest.mark.parametrize("index", [0, -1])
def test_the_manual_of_pgpool_has_each_anchor_on_its_page(index: int) -> None:
    start = manuals(PGPOOL)[index]
    release = release_in(start.read_text(errors="replace"), r"(\d+)\.(\d+)\.\d+ Documentation")
    missing = []
    for one in settings_of("pgpool", release):
        page, _, anchor = one.manual.partition("#")
        text = (start.parent / page).read_text(errors="replace") if (start.parent / page).exists() else ""
        if not text or (anchor and f'"{anchor}"' not in text):
            missing.append(one.manual)
    assert missing == []


@pytest.mark.parametrize("index", [0, -1])
def test_the_manual_of_haproxy_has_each_keyword_in_its_section(index: int) -> None:
    text = gzip.decompress(manuals(HAPROXY)[index].read_bytes()).decode(errors="replace")
    missing = []
    for one in KINDS["haproxy"].catalog:
        section, _, keyword = unquote(one.manual[1:]).partition("-")
        body = re.split(rf"(?m)^{re.escape(section)}\. ", text)[-1]
        body = re.split(r"(?m)^\d+\.\d+\. ", body)[0]
        if not re.search(rf"(?m)^{re.escape(keyword)}(?= |$)", body):
            missing.append(one.manual)
    assert missing == []
