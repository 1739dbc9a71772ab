"""PgBouncer as a kind of pooler."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from uuid import UUID

from pools import names
from pools.models import Mode, Pool, Pooler
from pools.poolers.catalogue import Setting
from pools.poolers.kind import ConsoleSample, Problems
from pools.poolers.pgbouncer import console, entries, render, sample, settings, verify
from pools.poolers.pgbouncer.session import PgBouncerSession
from pools.poolers.pgbouncer.settings import Version


class PgBouncer:
    """The kind `pgbouncer`; see `pools.poolers.kind.Kind`."""

    files: tuple[str, ...] = render.FILES
    usual_mode = Mode.TRANSACTION
    catalogue: tuple[Setting, ...] = ()
    words: tuple[str, ...] = ("pools", "stats", "clients", "servers", "databases", "users", "config", "lists")

    def version_of(self, text: str) -> Version:
        """(1, 18) of `PgBouncer 1.18.0`."""
        return settings.version_of(text)

    def problems(self, wish: Pool) -> Problems:
        """Settings that its release does not take, or that would break their line."""
        version = settings.version_of(wish.pooler.server_version)
        for name, value in wish.settings.items():
            if message := settings.fault_of(name, value, version) or names.line_problem(str(value)):
                yield "settings", message

    def check(self, pooler: Pooler) -> str:
        """`PgBouncer 1.18.0`, from SHOW VERSION."""
        return str(console.show(pooler, "version")[0]["version"])

    def sample(self, pooler: Pooler) -> ConsoleSample:
        """SHOW POOLS, SHOW STATS and SHOW DATABASES."""
        return sample.take(pooler)

    def show(self, pooler: Pooler, word: str) -> list[dict[str, object]]:
        """The rows of `SHOW word`."""
        return console.show(pooler, word)

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
