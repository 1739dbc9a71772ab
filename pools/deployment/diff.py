"""Compares two sets of files or revisions, line by line; of a secret it shows that it changed, never its value."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum

from django.utils.translation import gettext as _

from pools.models import Pooler, Revision
from pools.poolers import KINDS
from pools.poolers.shown_secrets import MASK

Texts = Mapping[str, str]
Masked = Callable[[Texts], Mapping[str, str]]

CONTEXT_LINES = 3
MOST_LINES = 2000  # shown of one file; a page with more can't be read


class Sign(StrEnum):
    """The change of a line, as `diff -u` marks it."""

    SAME = " "
    ADDED = "+"
    REMOVED = "-"


@dataclass(frozen=True)
class Line:
    """A line with its numbers, counted from 1, in the old and the new file (None: not there)."""

    sign: Sign
    text: str
    old: int | None = None
    new: int | None = None
    note: str = ""


@dataclass(frozen=True)
class Hunk:
    """Adjacent lines; `header` as diff -u writes it: `@@ -3,7 +3,8 @@`."""

    header: str
    lines: Sequence[Line]


@dataclass(frozen=True)
class FileDiff:
    """A file that differs; `hidden` lines are omitted beyond the limit, the counts include them."""

    name: str
    change: str  # added, removed or changed
    hunks: Sequence[Hunk]
    added: int
    removed: int
    hidden: int = 0

    @property
    def text(self) -> str:
        """The file as `diff -u` writes it; a secret that changed has a line of its own."""
        lines = [f"--- {self.name}", f"+++ {self.name}"]
        for hunk in self.hunks:
            lines.append(hunk.header)
            for line in hunk.lines:
                lines.append(f"{line.sign}{line.text}")
                lines += [f"\\ {line.note}"] if line.note else []
        lines += [f"\\ {self.hidden} more lines"] if self.hidden else []
        return "\n".join(lines) + "\n"


def of_files(before: Texts, after: Texts, masked: Masked) -> list[FileDiff]:
    """List the files that differ, by name; `masked` replaces secrets and keeps the number of lines where it can."""
    diffs = []
    for name in sorted({*before, *after}):
        if before.get(name) == after.get(name):
            continue
        old, new = (_lines(name, texts.get(name), masked) for texts in (before, after))
        change = "added" if name not in before else "removed" if name not in after else "changed"
        diffs.append(_of_file(name, change, old, new))
    return diffs


@dataclass(frozen=True)
class _MaskedLine:
    """A line to compare, and the same with its secrets masked, to show."""

    raw: str
    shown: str

    @property
    def key(self) -> str:
        """The word that a line begins with: the same in the old and the new line."""
        return self.shown.partition(" ")[0]

    @property
    def secrets(self) -> tuple[str, ...]:
        """Secrets in the line, which `shown` has as dots."""
        pattern = "(.*)".join(map(re.escape, self.shown.split(MASK)))
        match = re.fullmatch(pattern, self.raw, re.DOTALL) if MASK in self.shown else None
        return match.groups() if match else (self.raw,) if self.raw != self.shown else ()


def _lines(name: str, text: str | None, masked: Masked) -> list[_MaskedLine]:
    if text is None:
        return []
    raw, masked_lines = _split(text), _split(masked({name: text})[name])
    if len(raw) != len(masked_lines):  # a secret of several lines: the first line represents all of them
        masked_lines = masked_lines or [""]
        return [_MaskedLine(text, masked_lines[0]), *(_MaskedLine(line, line) for line in masked_lines[1:])]
    return [_MaskedLine(*pair) for pair in zip(raw, masked_lines, strict=True)]


def _split(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []


def _of_file(name: str, change: str, old: list[_MaskedLine], new: list[_MaskedLine]) -> FileDiff:
    hunks, count, total = [], 0, 0
    added = removed = 0
    for group in _groups([line.raw for line in old], [line.raw for line in new]):
        lines = [line for code in group for line in _diff_lines(code, old, new)]
        added += sum(line.sign == Sign.ADDED for line in lines)
        removed += sum(line.sign == Sign.REMOVED for line in lines)
        total += len(lines)
        if lines and count < MOST_LINES:
            kept = lines[: MOST_LINES - count]
            count += len(kept)
            hunks.append(Hunk(_header(group), kept))
    return FileDiff(name, change, hunks, added, removed, hidden=total - count)


Code = tuple[str, int, int, int, int]  # difflib's opcode: tag, i1, i2 of the old, j1, j2 of the new


def _groups(old: list[str], new: list[str]) -> Iterator[list[Code]]:
    """Group the changes by difflib, after cutting off equal ends, since difflib is slow on long files."""
    head = _common_prefix_length(old, new)
    tail = _common_prefix_length(old[head:][::-1], new[head:][::-1])
    start, stop = max(head - CONTEXT_LINES, 0), max(tail - CONTEXT_LINES, 0)
    matcher = SequenceMatcher(None, old[start : len(old) - stop], new[start : len(new) - stop], autojunk=False)
    for group in matcher.get_grouped_opcodes(CONTEXT_LINES):
        yield [(tag, i1 + start, i2 + start, j1 + start, j2 + start) for tag, i1, i2, j1, j2 in group]


def _common_prefix_length(one: list[str], other: list[str]) -> int:
    """Count the lines that are equal from the start."""
    for number, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return number
    return min(len(one), len(other))


def _diff_lines(code: Code, old: list[_MaskedLine], new: list[_MaskedLine]) -> Iterator[Line]:
    tag, i1, i2, j1, j2 = code
    if tag == "equal":
        for offset, line in enumerate(old[i1:i2]):
            yield Line(Sign.SAME, line.shown, i1 + offset + 1, j1 + offset + 1)
        return
    before = {line.key: line.secrets for line in old[i1:i2] if line.secrets}
    for number, line in enumerate(old[i1:i2], start=i1 + 1):
        yield Line(Sign.REMOVED, line.shown, old=number)
    for number, line in enumerate(new[j1:j2], start=j1 + 1):
        changed = line.key in before and before[line.key] != line.secrets
        yield Line(Sign.ADDED, line.shown, new=number, note=_("secret changed") if changed else "")


def _header(group: list[Code]) -> str:
    i1, j1, i2, j2 = group[0][1], group[0][3], group[-1][2], group[-1][4]
    return f"@@ -{_span(i1, i2)} +{_span(j1, j2)} @@"


def _span(start: int, stop: int) -> str:
    """Format a range as diff -u does: an empty one begins at the line before it."""
    length = stop - start
    return f"{start + 1 if length else start},{length}"


def before(revision: Revision) -> Revision | None:
    """Return the revision that was live before this one: the last applied with a smaller number."""
    return revision.pooler.revisions.applied().filter(number__lt=revision.number).first()


def between(pooler: Pooler, old: Texts, new: Texts) -> list[FileDiff]:
    """List the files that differ, secrets masked, without the operator's own parts of files."""
    kind = KINDS[pooler.kind]
    before, after = ({name: text for name, text in texts.items() if kind.ours(name, text)} for texts in (old, new))
    return of_files(before, after, kind.masked)


def of_revision(revision: Revision, against: Revision | None) -> list[FileDiff]:
    """List the files of `revision` that differ from `against` (None: an empty folder)."""
    return between(revision.pooler, against.files if against else {}, revision.files)


def masked_files(revision: Revision) -> list[dict[str, str]]:
    """Return `[{name, content}]` of all files that a revision wrote, secrets masked."""
    masked = KINDS[revision.pooler.kind].masked(revision.files)
    return [{"name": name, "content": content} for name, content in masked.items()]
