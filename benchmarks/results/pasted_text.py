"""Takes off what harnesses, CI systems and containers print before each line of a load program's output; pure."""

import re
from collections import Counter

# The beginnings of a load program's lines that have no prefix.
_MARK = re.compile(
    r"progress: [0-9]+\.[0-9]|transaction type: |scaling factor: [0-9]|number of (?:clients|threads): [0-9]"
    r"|number of transactions actually processed: |latency average(?: =|:) |tps = [0-9]|[0-9]+ of [0-9]+ tuples "
    r"|SQL statistics:|Number of threads: [0-9]|\[ [0-9]+s \] thds: |Latency \(ms\):|Throughput:"
)
# a number in a time stamp, which differs from line to line as its digits do
_NUMBER = re.compile(r"[0-9]+(?:[.,][0-9]+)?")
_NOT_TEXT = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\ufffd]")  # \x1b begins a color


def without_prefix(text: str) -> str:
    """Return the text without the prefix that most lines of a load program's output have, whatever it is.

    Numbers in a prefix may differ from line to line, as in a time stamp. Lines without the prefix are left alone.
    """
    lines = text.split("\n")
    found = Counter(_shape(line[: mark.start()]) for line in lines if (mark := _MARK.search(line)))
    shape, count = found.most_common(1)[0] if found else ("", 0)
    if not shape or count * 2 <= found.total():
        return text
    prefix = re.compile(rf"{_pattern(shape)}|{_pattern(shape.rstrip())}$")
    return "\n".join(prefix.sub("", line, count=1) if prefix.match(line) else line for line in lines)


def is_binary(text: str) -> bool:
    """Test whether a text holds what no program prints for people."""
    return bool(_NOT_TEXT.search(text))


def _shape(prefix: str) -> str:
    """Return a prefix with each number replaced by a zero."""
    return _NUMBER.sub("0", prefix)


def _pattern(shape: str) -> str:
    """Return the regular expression of all prefixes of a shape, in which 0 stands for a number."""
    return _NUMBER.pattern.join(re.escape(piece) for piece in shape.split("0"))
