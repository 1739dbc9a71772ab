"""What a revision changed in the files, compared with any other or with those that lie on the pooler."""

from collections.abc import Mapping

from pools.deployment import diff
from pools.deployment.diff import FileDiff
from pools.models import Pooler, Revision
from pools.poolers import KINDS

Texts = Mapping[str, str]


def before(revision: Revision) -> Revision | None:
    """The revision that was live before this one: the last applied of those with a smaller number."""
    return revision.pooler.revisions.applied().filter(number__lt=revision.number).first()


def between(pooler: Pooler, old: Texts, new: Texts) -> list[FileDiff]:
    """The files that differ, secrets masked; those that are the operator's own, but for a line, are left out."""
    kind = KINDS[pooler.kind]
    before, after = ({name: text for name, text in texts.items() if kind.ours(name, text)} for texts in (old, new))
    return diff.of_files(before, after, kind.masked)


def of_revision(revision: Revision, against: Revision | None) -> list[FileDiff]:
    """What `revision` has otherwise than `against` (None: an empty folder)."""
    return between(revision.pooler, against.files if against else {}, revision.files)


def masked_files(revision: Revision) -> list[dict[str, str]]:
    """`[{name, content}]` of all it wrote, secrets masked."""
    shown = KINDS[revision.pooler.kind].masked(revision.files)
    return [{"name": name, "content": content} for name, content in shown.items()]
