"""A shell that runs the commands of a page from top to bottom, and compares what they print with the page."""

import re
import subprocess
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path

from tests.docs_blocks import Block

WITHIN_S = 240


def run(found: list[Block], variables: Mapping[str, str], folder: Path) -> list[str]:
    """Run the blocks in one shell that starts in `folder`, with these variables; return what is wrong, by line."""
    printed = folder / ".printed"
    printed.mkdir()
    script = folder / ".commands.sh"
    script.write_text("set -euo pipefail\n" + "".join(_wrapped(one, printed) for one in found if one.is_run))
    argv = ["timeout", str(WITHIN_S), "bash", str(script)]
    done = subprocess.run(argv, cwd=folder, env=dict(variables), capture_output=True, text=True, check=False)
    started = sorted(int(path.name) for path in printed.iterdir())
    if done.returncode:
        last = started[-1] if started else 0
        text = (printed / str(last)).read_text() if started else ""
        return [f"line {last}: exit code {done.returncode}:\n{text}{done.stderr}"]
    return [fault for one, output in _with_output(found) if (fault := _difference(one, output, printed))]


def _wrapped(block: Block, printed: Path) -> str:
    return f"{{\n{block.text}}} > {printed}/{block.line} 2>&1 < /dev/null\n"


def _with_output(found: list[Block]) -> Iterator[tuple[Block, Block]]:
    for one, following in pairwise(found):
        if one.is_run and following.language == "console":
            yield one, following


def _difference(block: Block, output: Block, printed: Path) -> str:
    text = (printed / str(block.line)).read_text()
    return "" if matches(output.text, text) else f"line {output.line}: printed was\n{text}"


def matches(expected: str, text: str) -> bool:
    """Return whether a text is what a page shows of it; columns may be wider or narrower."""
    pattern = "".join(map(_pattern, expected.splitlines()))
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in text.splitlines())) is not None


def _pattern(line: str) -> str:
    if line.strip() == "…":
        return r"(?:.*\n)*?"
    words = [re.escape(word).replace("…", ".*?") for word in line.split()]
    return r"[ \t]*" + r"[ \t]+".join(words) + r"[ \t]*\n"
