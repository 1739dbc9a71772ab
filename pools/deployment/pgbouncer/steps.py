"""The steps of PgBouncer's take-over and release."""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from django.utils.translation import gettext as _

from pools.deployment import diff
from pools.deployment.pgbouncer import take_over_plan
from pools.deployment.pgbouncer.take_over import PgBouncerRun
from pools.deployment.pgbouncer.take_over_plan import EntryPlan
from pools.deployment.take_over_files import bytes_at
from pools.deployment.take_over_steps import Changed, TakeOverSteps
from pools.models import Original, Pooler, TakeOver
from pools.poolers import KINDS
from pools.poolers.operators_files import MAIN, USERS
from pools.poolers.pgbouncer import console, processes, render, take_over


class PgBouncerSteps(TakeOverSteps):
    """Those of the kind `pgbouncer`."""

    def planned(
        self, pooler: Pooler, config_file: str, names: Collection[str] | None = None
    ) -> AbstractContextManager[EntryPlan]:
        return take_over_plan.planned(pooler, config_file, names)

    def run_of(self, asked: TakeOver, plan: EntryPlan) -> PgBouncerRun:
        return PgBouncerRun(asked, plan, self.restore)

    @contextmanager
    def reloading(self, pooler: Pooler) -> Iterator[Callable[[], None]]:
        """Open the consoles."""
        with processes.opened(pooler) as found:

            def reload() -> None:
                for one in found:
                    console.reload(one.console)

            yield reload

    def without_panel_part(self, taken: TakeOver, path: str, original: Original, now: bytes) -> bytes | None:
        text = now.decode(errors="surrogateescape")
        if original.role == USERS:
            text = take_over.restored_users(text, (original.content or b"").decode(errors="surrogateescape"))
        else:
            text = take_over.restored(text, taken.appended if original.role == MAIN else "")
        return text.encode(errors="surrogateescape")

    def added_files(self, taken: TakeOver) -> Changed:
        """Return those of its folder, and its part of an auth_file that came since."""
        found: Changed = {}
        for path in _added_paths(taken):
            now = bytes_at(taken.pooler, path)
            is_shared = now is not None and path == taken.pooler.file_paths.get(render.USERLIST)
            found[path] = (now, _operators_users(now) if now is not None and is_shared else None)
        return found

    def release_blockers(self, taken: TakeOver) -> list[str]:
        kind = KINDS[taken.pooler.kind]
        if kind.files_of(taken.pooler) == kind.files:
            return []
        return [_("further processes have main files of the panel's: ask for one process, and stop the others first")]

    def masked_for(self, pooler: Pooler, texts: diff.Texts) -> Mapping[str, str]:
        """Mask secrets; what has users is masked as a user list, whatever its name."""
        found = {}
        for path, text in texts.items():
            name = render.USERLIST if render.users(text) else path
            found[path] = render.masked({name: text})[name]
        return found


def _added_paths(taken: TakeOver) -> Iterator[str]:
    kind, originals = KINDS[taken.pooler.kind], taken.originals
    paths = {name: str(Path(taken.config_file).with_name(name)) for name in kind.files_of(taken.pooler)}
    paths.pop(render.USERLIST, None)  # one that PgBouncer does not read is not the panel's
    for path in {**paths, **taken.pooler.file_paths}.values():
        if path not in originals and bytes_at(taken.pooler, path) is not None:
            yield path


def _operators_users(now: bytes) -> bytes | None:
    """Return the lines of an auth_file outside the panel's part; None where there are none."""
    kept = render.kept_part(now.decode(errors="surrogateescape"))
    return kept.encode(errors="surrogateescape") if kept.strip() else None


STEPS = PgBouncerSteps()
