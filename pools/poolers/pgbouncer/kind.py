"""PgBouncer as a kind of pooler."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from uuid import UUID

from pools.models import Pooler
from pools.poolers.kind import PoolFigures
from pools.poolers.pgbouncer import console, entries, render, verify
from pools.poolers.pgbouncer.session import PgBouncerSession


class PgBouncer:
    """The kind `pgbouncer`; see `pools.poolers.kind.Kind`."""

    files: tuple[str, ...] = render.FILES

    def check(self, pooler: Pooler) -> str:
        """`PgBouncer 1.18.0`, from SHOW VERSION."""
        return str(console.show(pooler, "version")[0]["version"])

    def figures(self, pooler: Pooler) -> dict[str, PoolFigures]:
        """SHOW POOLS by pool name."""
        return console.figures(pooler)

    def compare(self, pooler: Pooler, texts: Mapping[str, str]) -> dict[UUID, str]:
        """SHOW DATABASES against the entries of pooldeck.ini."""
        return verify.faults(console.show(pooler, "databases"), entries.read(texts.get(render.DATABASES, "")))

    @contextmanager
    def open(self, pooler: Pooler) -> Iterator[PgBouncerSession]:
        """A session over one console login."""
        with console.open(pooler) as connection:
            yield PgBouncerSession(pooler, connection)

    def masked(self, texts: Mapping[str, str]) -> dict[str, str]:
        """The files with dots for passwords."""
        return render.masked(texts)

    def ours(self, name: str, text: str) -> str:
        """The part that an apply replaces."""
        return render.ours(name, text)
