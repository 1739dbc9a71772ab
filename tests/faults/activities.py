"""What goes on while a fault strikes, and what is wrong with it afterward."""

import itertools
import time
from abc import ABC, abstractmethod
from http.client import HTTPException
from typing import Any

import psycopg

from tests.faults.cells import NETWORK, Cell
from tests.faults.ground import Ground
from tests.installation import Refused

RUN_ENDED = {"succeeded", "failed", "lost", "cancelled", "timed_out"}
EXPERIMENT_ENDED = {"succeeded", "failed", "cancelled"}
DURATION_S, STRIKES_AFTER_S = 8, 2.0
SCALE = 20
MADE_BY_EXPERIMENTS = """
    SELECT 'role ' || rolname FROM pg_roles WHERE rolname LIKE 'pooldeck_experiment%'
     UNION ALL SELECT 'database ' || datname FROM pg_database WHERE datname LIKE 'pooldeck_experiment%'
"""
values = itertools.cycle(range(3, 9))  # with 100 more no whole minutes, which Pgpool-II would print as such


class Stuck(Exception):
    """It came to no end within its time."""


class Activity(ABC):
    """One activity of one trial; `begin` it, strike, then `faults_after`."""

    ends_within_s = 120.0
    strikes_after_s = STRIKES_AFTER_S

    def __init__(self, ground: Ground, cell: Cell) -> None:
        self.ground, self.cell = ground, cell
        self.api = ground.api_by_proxy if cell.needs_proxies and cell.process == "web" else ground.api
        self.pooler = "pgpool" if cell.process == "pgpool" else "pgbouncer"
        is_behind = cell.process == "postgres" and cell.fault in NETWORK
        self.cluster = ground.clusters["behind" if is_behind else "demo"]
        self.pool = ground.pools["behind" if is_behind else self.pooler]
        self.pool_name = "behind" if is_behind else "app"
        self.path, self.outcome = "", ""

    @abstractmethod
    def begin(self) -> None:
        """Ask the panel for it, and return as soon as it is under way."""

    @abstractmethod
    def faults_after(self) -> list[str]:
        """Wait for its end, and return what is wrong with it, empty where all is well; raises `Stuck`."""

    def ended(self, field: str, states: set[str]) -> dict[str, Any]:
        """Return its record once `field` is one of these, however often the panel is away meanwhile."""
        deadline = time.monotonic() + self.ends_within_s
        found: dict[str, Any] = {}
        while time.monotonic() < deadline:
            try:
                found = self.api.get(self.path)
            except (Refused, OSError, HTTPException):
                time.sleep(0.5)
                continue
            if found[field] in states:
                self.outcome = self.outcome or found[field]
                return found
            time.sleep(0.2)
        raise Stuck(f"{field} is {found.get(field)!r} after {self.ends_within_s:.0f} s")


class Load(Activity):
    """A run of eight seconds with two clients, of a pool."""

    asked: dict[str, Any] = {"options": {"duration": DURATION_S, "clients": 2, "rate": 100}, "generators": ["local"]}

    def target(self) -> dict[str, str]:
        """The pool of the pooler that the fault strikes."""
        return {"pool": self.pool}

    def begin(self) -> None:
        made = self.api.post("runs/", self.asked | {"target": self.target()})
        self.path = f"runs/{made['id']}/"
        self.api.wait(self.path, "status", {"running"} | RUN_ENDED, 30)

    def faults_after(self) -> list[str]:
        run = self.ended("status", RUN_ENDED)
        wrong = []
        if run["attempt"] != 1:
            wrong.append(f"double: it was started {run['attempt']} times")
        if run["status"] != "succeeded" and not self.cell.load_may_fail:
            wrong.append(f"state: {run['status']}: {run['error'][:200]}")
        if run["status"] != "succeeded" and not run["error"]:
            wrong.append(f"state: {run['status']} without a reason")
        return wrong + (self.missing(run) if run["status"] == "succeeded" else [])

    def missing(self, run: dict[str, Any]) -> list[str]:
        """Return the seconds without a sample of a run that succeeded."""
        seen = {round(one["t"]) for one in self.api.get(f"{self.path}samples/?page_size=200")["results"]}
        lost = sorted(set(range(1, DURATION_S)) - seen)
        return [f"samples: none of second {second}" for second in lost]


class Preparation(Load):
    """pgbench -i of two million rows in the demo's database."""

    asked = {"purpose": "prepare", "options": {"scale": SCALE}, "generators": ["local"]}
    strikes_after_s = 0.7

    def target(self) -> dict[str, str]:
        return {"cluster": self.cluster, "database": self.pool_name, "user": "app"}

    def faults_after(self) -> list[str]:
        wrong = super().faults_after()
        if self.outcome != "succeeded":  # runs are refused until the tables are whole
            self.begin()
            self.ended("status", {"succeeded"})
        return wrong

    def missing(self, run: dict[str, Any]) -> list[str]:
        with self.ground.superuser(self.pool_name) as session:
            row = session.execute("SELECT count(*) FROM pgbench_accounts").fetchone()
        return [] if row == (SCALE * 100_000,) else [f"state: succeeded with {row} rows in pgbench_accounts"]


class Apply(Activity):
    """PgBouncer's pool gets another size, or Pgpool-II another setting, and the live one is to be that."""

    strikes_after_s = 0.1

    def begin(self) -> None:
        value, self.before = next(values), self._live()
        self.asked = value if self.pooler == "pgbouncer" else value + 100
        if self.pooler == "pgbouncer":
            self.path = f"pools/{self.pool}/"
            body: dict[str, Any] = {"size": self.asked}
        else:
            self.path = f"poolers/{self.ground.poolers['pgpool']}/"
            body = {"settings": {"client_idle_limit": self.asked}}
        self.api.call("PATCH", self.path, body)

    def faults_after(self) -> list[str]:
        """A pooler that does not answer for too long gets its old configuration back, and is to have that."""
        ends = {"applied", "rolled_back"} if self.cell.process == self.pooler else {"applied"}
        self.ended("state" if self.pooler == "pgbouncer" else "settings_state", ends)
        wanted, live = self.before if self.outcome == "rolled_back" else self.asked, self._live()
        return [] if live == wanted else [f"state: {self.outcome}, which means {wanted}, and live is {live}"]

    def _live(self) -> int | None:
        return self._size() if self.pooler == "pgbouncer" else self._limit()

    def _size(self) -> int | None:
        with self.ground.console() as console:
            cursor = console.execute("SHOW DATABASES")
            assert cursor.description
            names = [column.name for column in cursor.description]
            rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
        return {row["name"]: int(row["pool_size"]) for row in rows}.get(self.pool_name)

    def _limit(self) -> int:
        with self.ground.client("pgpool") as client:
            row = client.execute("PGPOOL SHOW client_idle_limit").fetchone()
        assert row
        return int(str(row[0]).removesuffix("s"))


class Experiment(Activity):
    """Two arms of the reconnect playbook, one through a pooler with a pool of its own."""

    ends_within_s = 240.0
    strikes_after_s = 5.0

    def begin(self) -> None:
        form = {"repeats": 1, "options": {"duration": 3, "warm_up": None}, "dataset": {"scale": 1}}
        arms = {"arms": ["10-scram-none", f"10-scram-{self.pooler}"]}
        made = self.api.post("experiments/", form | arms | {"playbook": "reconnect", "cluster": self.cluster})
        self.path = f"experiments/{made['id']}/"

    def faults_after(self) -> list[str]:
        found = self.ended("state", EXPERIMENT_ENDED)
        runs = self.api.get(f"runs/?experiment={found['id']}&page_size=50")["results"]
        wrong = [f"double: run {one['number']}: {one['attempt']} starts" for one in runs if one["attempt"] != 1]
        wrong += [f"stuck: run {one['number']} is {one['status']}" for one in runs if one["status"] not in RUN_ENDED]
        if found["state"] != "succeeded" and not self.cell.load_may_fail:
            wrong.append(f"state: {found['state']}: {'; '.join(found['reasons'])[:200]}")
        if found["state"] != "succeeded" and not found["reasons"]:
            wrong.append(f"state: {found['state']} without a reason")
        return wrong + [f"left: {one}" for one in self._left()]

    def _left(self) -> list[str]:
        deadline = time.monotonic() + 60
        while True:
            left = self._left_now()
            if not left or time.monotonic() > deadline:
                return left
            time.sleep(1)

    def _left_now(self) -> list[str]:
        try:
            with self.ground.superuser() as session:
                left = [row[0] for row in session.execute(MADE_BY_EXPERIMENTS).fetchall()]
            pools = self.api.get("pools/?page_size=50")["results"]
        except (psycopg.Error, Refused, OSError) as error:
            return [str(error)]
        return left + [f"pool {one['name']}" for one in pools if one["name"].startswith("pooldeck_experiment")]


ACTIVITIES: dict[str, type[Activity]] = {"run": Load, "apply": Apply, "init": Preparation, "experiment": Experiment}
