"""Many small PgBouncers at loopback, each with a few entries that lead by way of one PgBouncer to a PostgreSQL."""

import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg

from panel.quickstart.ports import free_port
from panel.quickstart.servers import PgBouncerServer, PostgresServer

USER, PASSWORD = "pooldeck", "console-of-the-bench"
FRONT_CLIENTS, CLIENTS = 4_000, 20  # the most that they admit; few keep a process small


class SmallBouncer(PgBouncerServer):
    """A PgBouncer whose first configuration has these entries: name → connection string."""

    def __init__(self, home: Path, port: int, entries: Mapping[str, str], clients: int = CLIENTS) -> None:
        super().__init__(home, port, USER, PASSWORD)
        self.own_settings = {"max_client_conn": clients}
        self.entries = entries

    def _first_ini(self) -> str:
        lines = "".join(f"{name} = {words}\n" for name, words in self.entries.items())
        return super()._first_ini().replace("[databases]\n", f"[databases]\n{lines}", 1)

    def use_each_entry(self) -> None:
        """Log in through each entry once: a console lists only pools that somebody used."""
        login = {"host": self.host, "port": self.port, "user": USER, "password": PASSWORD}
        for name in self.entries:
            psycopg.connect(**login, dbname=name, connect_timeout=30).close()  # type: ignore[arg-type]

    def hang(self) -> None:
        """Stop its process: the system still takes connections for it, and nothing answers."""
        self.kill(signal.SIGSTOP)

    def ask_to_stop(self) -> None:
        """Send its stop signal, and wake it where it hangs."""
        super().ask_to_stop()
        self.kill(signal.SIGCONT)


@contextmanager
def started(home: Path, count: int, entries: int) -> Iterator[Sequence[SmallBouncer]]:
    """Run so many of them, each with so many entries that were used once."""
    with ExitStack() as stack:
        postgres = stack.enter_context(PostgresServer(home / "postgres", free_port(), password=PASSWORD))
        target = f"host={postgres.host} port={postgres.port} dbname=postgres user=postgres password={PASSWORD}"
        front = stack.enter_context(SmallBouncer(home / "front", free_port(), {"app": target}, FRONT_CLIENTS))
        behind = f"host={front.host} port={front.port} dbname=app user={USER} password={PASSWORD}"
        named = {f"entry_{number}": behind for number in range(entries)}
        found = [SmallBouncer(home / f"{number:03}", free_port(), named) for number in range(count)]
        for one in found:
            one.prepare()
            one.spawn()
            stack.callback(one.wait_until_stopped)
        stack.callback(lambda: [one.ask_to_stop() for one in found])
        for one in found:
            one.wait_until_ready()
            one.use_each_entry()
        yield found
