"""What the steps of kinds share whose files have the panel's part below a mark, and the operator's above it."""

from collections.abc import Callable, Iterator, Mapping

from django.utils.translation import gettext as _

from pools.config_files import pooler_files
from pools.deployment import diff
from pools.deployment.take_over_files import bytes_at
from pools.deployment.take_over_steps import Changed, TakeOverSteps
from pools.models import Original, Pooler, Revision, TakeOver
from pools.poolers import KINDS

Masked = Callable[[diff.Texts], Mapping[str, str]]


class MarkedSteps(TakeOverSteps):
    """A kind gives its `mark`, and the rest of its steps."""

    mark: str

    def without_panel_part(self, taken: TakeOver, path: str, original: Original, now: bytes) -> bytes | None:
        """Take away what the panel wrote; lines that others added below it stay, as those above the mark do."""
        text, before = now.decode(errors="surrogateescape"), original.content or b""
        above, mark, below = text.partition(self.mark)
        if not mark:
            return now
        own = self._applied(taken, path)
        added = below[len(own) :] if own is not None and below.startswith(own) else ""
        if above.encode(errors="surrogateescape") == before + b"\n" and not added:
            return before  # The line break was the panel's, before its mark.
        return (above + added).encode(errors="surrogateescape")

    def added_files(self, taken: TakeOver) -> Changed:
        """Return those that the panel made in its folder since; what others wrote into them stays."""
        found: Changed = {}
        for path in self._paths(taken.pooler).values():
            if path in taken.originals or (now := bytes_at(taken.pooler, path)) is None:
                continue
            kept = self.without_panel_part(taken, path, Original("panel"), now)
            is_whole = self.mark.encode() not in now  # an uploaded file, all of it the panel's
            found[path] = (now, None if is_whole or not kept else kept)
        return found

    def release_blockers(self, taken: TakeOver) -> list[str]:
        return list(self._edited_parts(taken))

    def _edited_parts(self, taken: TakeOver) -> Iterator[str]:
        for path in self._paths(taken.pooler).values():
            now = bytes_at(taken.pooler, path) or b""
            _above, mark, below = now.decode(errors="surrogateescape").partition(self.mark)
            if mark and not below.startswith(self._applied(taken, path) or ""):
                text = _("the panel's part of %(path)s was edited by hand: adopt or overwrite that first")
                yield text % {"path": path}

    def _applied(self, taken: TakeOver, path: str) -> str | None:
        """Return the panel's part of a file as the last apply wrote it; None where that is unknown."""
        live = Revision.objects.live_on(taken.pooler)
        if live is None or not taken.pooler.config_dir:  # a worker died during the take-over itself
            return taken.appended.partition(self.mark)[2] if path == taken.config_file else None
        names = {found: name for name, found in self._paths(taken.pooler).items()}
        return live.files.get(names.get(path, ""), "").partition(self.mark)[2]

    def _paths(self, pooler: Pooler) -> dict[str, str]:
        if not pooler.config_dir:
            return {}
        return {name: pooler_files.path_of(pooler, name) for name in KINDS[pooler.kind].files_of(pooler)}


def appended(old: str, new: str) -> str:
    """Return what a file gets at its end."""
    return new.removeprefix(old)
