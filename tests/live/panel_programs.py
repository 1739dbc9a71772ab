"""The panel's own programs, of the test database and the test's Redis."""

import os
from contextlib import suppress
from pathlib import Path
from urllib.request import urlopen

from django.db import connection

import benchmarks.tasks  # noqa: F401 (registered before `use_broker` closes the application, which forgets later ones)
import pools.tasks  # noqa: F401 (as above)
from core.installation import copies
from core.lib import env
from core.lib.queues import WorkerKind
from panel import celery_app
from panel.quickstart.panel_programs import Beat, Web, Worker
from panel.quickstart.servers import free_port
from panel.quickstart.tls import TlsFiles


def use_broker(url: str) -> None:
    """Let this process's Celery application send to that broker, forgetting its connections."""
    celery_app.conf.broker_url = url
    celery_app.conf.broker_write_url = url
    celery_app.close()
    celery_app.__dict__.pop("amqp", None)


def shared_environment(redis_url: str) -> dict[str, str]:
    """For a process of its own: the test run's settings, its database file and the test's Redis."""
    return {
        **os.environ,
        "DATABASE_URL": f"sqlite:///{connection.settings_dict['NAME']}",
        "REDIS_URL": redis_url,
        "DJANGO_SETTINGS_MODULE": "panel.settings",
        "PYTHONUNBUFFERED": "1",
    }


class TestWeb(Web):
    """A web process of the test database and the test's Redis."""

    __test__ = False
    ready_within_s = 60.0

    def __init__(self, home: Path, redis_url: str, tls: TlsFiles | None = None) -> None:
        super().__init__(home, free_port(), tls=tls)
        self.redis_url = redis_url

    @property
    def environment(self) -> dict[str, str]:
        """The test run's own settings."""
        return shared_environment(self.redis_url)

    def probe(self) -> None:
        """It answers; no worker need be there."""
        urlopen(f"{self.url}/healthz/live", timeout=5, context=self.client_context).close()


class TestWorker(Worker):
    """A worker of the test database and the test's Redis; it takes runs and tasks unless told."""

    __test__ = False
    children = 3
    ready_within_s = 60.0

    def __init__(
        self, home: Path, redis_url: str, generator: str = "local", takes: WorkerKind = WorkerKind.ALL
    ) -> None:
        super().__init__(home)
        self.redis_url, self.generator, self.takes = redis_url, generator, takes

    @property
    def environment(self) -> dict[str, str]:
        """The test run's own settings without the key of sessions, the generator's name and what it takes."""
        named = {"POOLDECK_GENERATOR": self.generator, "POOLDECK_WORKER": self.takes, "POOLDECK_SECRET_KEY": ""}
        return shared_environment(self.redis_url) | named

    def probe(self) -> None:
        """Its log says so."""
        if "ready." not in self.log:
            raise OSError("the worker has not said that it is ready")


class TestBeat(Beat):
    """The clock of the test database and the test's Redis."""

    __test__ = False
    ready_within_s = 60.0

    def __init__(self, home: Path, redis_url: str) -> None:
        super().__init__(home)
        self.redis_url, self.recorded_before = redis_url, ""

    def prepare(self) -> None:
        """Start as in a panel that has been here before: the tests' poolers lie outside of its home."""
        super().prepare()
        env.home().mkdir(parents=True, exist_ok=True)
        with suppress(RuntimeError):  # of pytest-django: no test has begun, so there are no poolers
            copies.recognize(env.home())
        self.recorded_before = self._recorded_start()

    def probe(self) -> None:
        """It has recorded its start, and sends tasks."""
        if self._recorded_start() == self.recorded_before:
            raise OSError("beat has not recorded its start")

    def _recorded_start(self) -> str:
        record = env.home() / copies.FILE_NAME
        return record.read_text() if record.exists() else ""

    @property
    def argv(self) -> list[str]:
        """Its memory of what was due when stays in the test's own folder."""
        return [*super().argv, "--schedule", str(self.home / "schedule")]

    @property
    def environment(self) -> dict[str, str]:
        """The test run's own settings."""
        return shared_environment(self.redis_url)
