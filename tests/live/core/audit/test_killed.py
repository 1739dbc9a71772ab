"""People act by pages and by API while the panel's processes are killed; the trail tells what stands, and no more."""

import itertools
import re
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from panel.quickstart.servers import PgBouncerServer, PostgresServer, RedisServer, free_port
from tests import seeds
from tests.live.conftest import APP_DATABASE, APP_PASSWORD, APP_ROLE
from tests.live.core.audit.acts import VERBS, Act, Numbers, Person, Requests, people_of
from tests.live.core.audit.ledger import Books, acts_off
from tests.live.core.audit.panel import OwnProgram, OwnWeb, Panel, in_postgresql, in_sqlite

PEOPLE = 4
SETTLED_WITHIN_S = 300
BY_EITHER = ("create pool", "change pool", "remove pool", "reveal", "apply", "create token", "revoke token")
BY_EITHER += ("delete script", "add member", "change member", "remove member", "be refused")
BY_EITHER += tuple(f"{verb} pool" for verb in VERBS)
EVERY_ACT = {f"{act} by {way}" for act in BY_EITHER for way in ("page", "API")} | {"create script by API"}
ISSUED = re.compile(r"(PAUSE|RECONNECT|KILL|DISABLE|ENABLE) '(p\d+)' command issued")


@dataclass(frozen=True)
class Size:
    """Where the metadata are, how many acts there are, and how many processes are killed meanwhile."""

    metadata: str
    acts: int
    kills: int

    def __str__(self) -> str:
        return f"{self.metadata}-{self.acts}"


@dataclass
class Day:
    """What happened, and what stands at its end."""

    panel: Panel
    acts: list[Act]
    killed: Counter[str]
    stands: dict[str, Any]
    console_log: str

    @property
    def entries(self) -> list[dict[str, Any]]:
        """The trail, oldest first."""
        found: list[dict[str, Any]] = self.stands["entries"]
        return found


SIZES = [
    pytest.param(Size("sqlite", 100, 3), id="sqlite-100"),
    pytest.param(
        Size("postgresql", 1000, 12), id="postgresql-1000", marks=[pytest.mark.slow, pytest.mark.timeout(1800)]
    ),
]


@pytest.fixture(scope="module", params=SIZES)
def day(
    request: pytest.FixtureRequest,
    postgres: PostgresServer,
    seeds_folder: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Day]:
    """A panel with a PgBouncer, and the acts of some people there."""
    size, folder = request.param, tmp_path_factory.mktemp("day")
    folder.chmod(0o711)  # the servers' account has to reach its own folders
    with ExitStack() as stack:
        redis = stack.enter_context(RedisServer(folder / "redis", free_port(), password="of-redis"))
        pgbouncer = stack.enter_context(PgBouncerServer(folder / "pgbouncer", free_port(), "pooldeck", "of-console"))
        metadata = stack.enter_context({"postgresql": in_postgresql, "sqlite": in_sqlite}[size.metadata](folder))
        begun = time.monotonic()
        panel = Panel(folder, metadata, redis)
        told = prepared(panel, seeds_folder, folder)
        stack.enter_context(panel.running())
        told |= register(panel, told, postgres, pgbouncer)
        print(f"{time.monotonic() - begun:.0f} s until the panel was there")
        yield live_through(panel, told, size, pgbouncer)


def prepared(panel: Panel, seeds_folder: Path, folder: Path) -> dict[str, Any]:
    """Migrate the database, of which there may be a copy, and make people."""
    is_file = panel.metadata.url.startswith("sqlite")
    with seeds.migrated(seeds_folder, folder / "metadata.sqlite3") if is_file else nullcontext():
        migrated = panel.manage("migrate", "-v0")
        assert migrated.returncode == 0, migrated.stderr
    told: dict[str, Any] = panel.within("prepare")
    return told


def register(
    panel: Panel, told: dict[str, Any], postgres: PostgresServer, pgbouncer: PgBouncerServer
) -> dict[str, Any]:
    """Register the cluster and the PgBouncer, with the password of the role that the pools log in as."""
    someone = Person(Requests(panel.webs), told, Numbers(0, 1), 0)
    asked = {"host": postgres.host, "port": postgres.port, "sslmode": "disable", "protected": False}
    login = {"admin_user": postgres.superuser, "admin_password": postgres.password}
    cluster = someone.ask("POST", "/api/v1/clusters/", {"name": "live", **asked, **login}).json["id"]
    asked = {"kind": "pgbouncer", "host": pgbouncer.host, "port": pgbouncer.port}
    login = {"admin_user": pgbouncer.admin_user, "admin_password": pgbouncer.admin_password}
    where = {"name": "live", "config_dir": str(pgbouncer.config_dir)}
    pooler = someone.ask("POST", "/api/v1/poolers/", {**where, **asked, **login}).json["id"]
    pool = {"pooler": pooler, "cluster": cluster, "database": APP_DATABASE, "user": APP_ROLE}
    first = {**pool, "name": "first", "mode": "transaction", "size": 1, "user_password": APP_PASSWORD}
    made = someone.ask("POST", "/api/v1/pools/?wait=60", first)
    assert (made.status, made.json.get("state")) == (201, "applied"), made.body
    return {"pool": pool, "app_password": APP_PASSWORD}


def live_through(panel: Panel, told: dict[str, Any], size: Size, pgbouncer: PgBouncerServer) -> Day:
    """Let people act and processes die, and wait until what was asked for is settled."""
    begun = time.monotonic()
    people, requests, numbers = people_of(panel, told, size.acts, PEOPLE)
    for one in people:
        one.start()
    killed = kill_meanwhile(panel, people, requests, numbers, size)
    for one in people:
        one.join(300)
    assert [one.error for one in people if one.error or one.is_alive()] == []
    acted_s = time.monotonic() - begun
    settle(panel)
    acts = sorted((act for one in people for act in one.acts), key=lambda act: act.number)
    print(
        f"{len(acts)} acts in {acted_s:.0f} s, settled after {time.monotonic() - begun:.0f} s; killed: {dict(killed)}"
    )
    return Day(panel, acts, killed, panel.within("stands"), pgbouncer.log)


def kill_meanwhile(
    panel: Panel, people: list[Person], requests: Requests, numbers: Numbers, size: Size
) -> "Counter[str]":
    """Kill one process after the other in the midst of what it does, and start it again."""
    killed = Counter[str]()
    programs: Iterator[OwnProgram] = itertools.cycle([panel.webs[0], panel.worker, panel.webs[1]])
    between = size.acts // (size.kills + 1)
    for kill in range(1, size.kills + 1):
        numbers.allow(kill * between)
        wait_until(lambda kill=kill: numbers.given >= kill * between, people)  # type: ignore[misc]
        program = next(programs)
        wait_until(lambda one=program: is_busy(panel, requests, numbers, one), people)  # type: ignore[misc]
        program.destroy()
        killed["web server" if isinstance(program, OwnWeb) else "worker"] += 1
        numbers.allow((kill + 1) * between)  # they go on without it
        program.spawn()
        program.wait_until_ready()
    numbers.allow(size.acts)
    return killed


def is_busy(panel: Panel, requests: Requests, numbers: Numbers, program: OwnProgram) -> bool:
    """Tell whether a request waits for a web server, or an apply is on its way; let people act until one is."""
    numbers.allow(numbers.given + PEOPLE)
    return requests.open_at[program.port] > 0 if isinstance(program, OwnWeb) else panel.applies() > 0


def wait_until(holds: Any, people: list[Person]) -> None:
    """Wait, while people act."""
    deadline = time.monotonic() + 300
    while not holds():
        assert any(one.is_alive() for one in people), [one.error for one in people]
        assert time.monotonic() < deadline
        time.sleep(0.002)


def settle(panel: Panel) -> None:
    """Wait until nothing is left to be done."""
    deadline = time.monotonic() + SETTLED_WITHIN_S
    while left := panel.waiting():
        assert time.monotonic() < deadline, f"{left} pools and applies are not settled"
        time.sleep(0.2)


def test_processes_were_killed_in_the_midst_of_acts(day: Day, request: pytest.FixtureRequest) -> None:
    size = request.node.callspec.params["day"]
    cut = [act for act in day.acts if not act.status]
    refused = [act for act in day.acts if act.status >= 400]
    print(f"{len(day.entries)} entries; {len(cut)} acts were cut off by a kill, {len(refused)} were refused")
    print(sorted(Counter(act.what for act in day.acts).items()))
    assert (len(day.acts), sum(day.killed.values())) == (size.acts, size.kills)
    assert len(cut) >= day.killed["web server"] // 2
    if size.acts >= 1000:
        assert len({act.what for act in day.acts}) == len(EVERY_ACT), EVERY_ACT ^ {act.what for act in day.acts}


def test_every_act_has_its_entries_and_every_entry_its_act(day: Day) -> None:
    assert acts_off(day.acts, day.entries) == []


def test_what_the_trail_tells_is_what_stands(day: Day) -> None:
    """Every change of the trail, carried out again from its beginning, gives each row of the data, and no other."""
    books = Books()
    books.carry_out(day.entries)
    assert books.compare(day.stands["rows"]) == []
    print(sorted(books.told.items()))


def test_every_command_that_the_pooler_logged_was_asked_for(day: Day) -> None:
    issued = Counter(ISSUED.findall(day.console_log))
    asked, done = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for one in day.entries:
        command = (one["action"].removeprefix("pool.").upper(), one["object_name"])
        asked[command] += one["outcome"] == "asked for"
        done[command] += one["outcome"] == "done"
    print(f"{issued.total()} commands in the log of PgBouncer")
    assert issued.total() > 0
    assert {one: n for one, n in issued.items() if not done[one] <= n <= asked[one]} == {}
    assert {one: n for one, n in done.items() if one[0] in ("DISABLE", "ENABLE", "KILL") and issued[one] < n} == {}


HOLDS = "The audit trail holds. Keep its head for the next check:"


def test_the_chain_holds_and_a_forged_a_removed_and_a_cut_off_entry_are_named(day: Day) -> None:
    for program in (day.panel.beat, day.panel.worker, *day.panel.webs):
        program.stop()
    checked = day.panel.manage("verify_audit")
    assert (checked.returncode, checked.stdout.splitlines()[0]) == (0, HOLDS), checked.stderr
    head = checked.stdout.splitlines()[-1]
    last, number = int(head.partition(":")[0]), day.entries[len(day.entries) // 2]["number"]
    print(f"{last} entries hold; forged and removed: {number}")
    forged = {"statement": f"UPDATE audit_entry SET actor_name = 'x' WHERE number = {number}", "head": ""}
    removed = {"statement": f"DELETE FROM audit_entry WHERE number = {number}", "head": ""}
    cut = {"statement": f"DELETE FROM audit_entry WHERE number > {last - 3}", "head": ""}
    *broken, whole, found, again = day.panel.within("verdicts", [forged, removed, cut, {**cut, "head": head}])
    assert [one.removeprefix("the audit trail is broken: ") for one in (*broken, found)] == [
        f"entry {number} was changed after it was written",
        f"entry {number} is missing: it was removed",
        f"entry {last - 2} is missing at the end: the chain ends at {last - 3}",
    ]
    assert whole.startswith(HOLDS)  # a trail that was cut is whole in itself
    assert again.splitlines() == [HOLDS, head]
