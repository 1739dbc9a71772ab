"""One journey for all tests here: an installation with metadata in PostgreSQL, watched from its start."""

import json
import resource
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from panel.quickstart.ports import free_port
from panel.quickstart.servers import PostgresServer
from tests.installation import Installation
from tests.live.panel.canary import places
from tests.live.panel.canary.journey import ROLES, Journey
from tests.live.panel.canary.places import MailServer, Processes, RedisCommands, Webhook
from tests.live.panel.canary.secrets import Secrets

PLANTED = "planted"


@dataclass
class Walked:
    """The journey after its end, with all that was watched on the way."""

    journey: Journey
    redis: RedisCommands
    processes: Processes
    folder: Path

    @property
    def planted(self) -> str:
        """What a test puts into a place by itself, to prove that it would be seen there."""
        return self.journey.secrets.known[PLANTED]


@pytest.fixture(scope="session")
def walked() -> Iterator[Walked]:
    secrets = Secrets(ROLES)
    secrets.choose(PLANTED)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="canary-")))
        folder.chmod(0o711)  # the servers' account has to reach its own folders
        stack.enter_context(core_dumps_allowed())
        webhook, mail = Webhook(), MailServer()
        for server in (webhook, mail):
            stack.enter_context(places.serving(server))
        metadata = stack.enter_context(made_metadata(folder, secrets))
        variables = told(folder, metadata, webhook, mail, secrets)
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        for name in ("POOLDECK_KEYS", "POOLDECK_SECRET_KEY"):  # of the tests: an installation has files of its own
            patch.delenv(name, raising=False)
        for name, value in variables.items():
            patch.setenv(name, value)
        prepare_home(folder / "home", secrets)
        processes = stack.enter_context(Processes())
        started = stack.enter_context(Installation(folder / "home", "--port", str(free_port())))
        add_what_was_made(started, secrets)
        commands = stack.enter_context(RedisCommands(redis_url(started, secrets)))
        journey = Journey(started, metadata, secrets, folder, webhook, mail)
        journey.walk()
        yield Walked(journey, commands, processes, folder)


@contextmanager
def core_dumps_allowed() -> Iterator[None]:
    """Let what is started here dump its memory where it crashes, unless it forbids that itself."""
    before = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (before[1], before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_CORE, before)


@contextmanager
def made_metadata(folder: Path, secrets: Secrets) -> Iterator[PostgresServer]:
    """A server with the database of the panel, which its own role owns."""
    password = secrets.choose("metadata superuser", is_plain=True)
    with PostgresServer(folder / "metadata", free_port(), password=password) as server:
        server.create_owner_and_database("pooldeck", secrets.choose("metadata", is_plain=True), "pooldeck")
        yield server


def told(
    folder: Path, metadata: PostgresServer, webhook: Webhook, mail: MailServer, secrets: Secrets
) -> dict[str, str]:
    """What the installation is told by its environment."""
    temporary = folder / "tmp"
    temporary.mkdir()
    temporary.chmod(0o1777)  # as /tmp is: programs of other accounts are tried out in it
    address = secrets.choose("webhook address", is_plain=True)
    return {
        "TMPDIR": str(temporary),
        "DATABASE_URL": f"postgresql://pooldeck:{secrets.known['metadata']}@127.0.0.1:{metadata.port}/pooldeck",
        "POOLDECK_WEBHOOK_URL": f"http://127.0.0.1:{webhook.server_address[1]}/{address}",
        "POOLDECK_WEBHOOK_SECRET": secrets.choose("webhook secret"),
        "POOLDECK_EMAIL_HOST": "127.0.0.1",
        "POOLDECK_EMAIL_PORT": str(mail.server_address[1]),
        "POOLDECK_EMAIL_SECURITY": "none",
        "POOLDECK_EMAIL_USER": "pooldeck",
        "POOLDECK_EMAIL_PASSWORD": secrets.choose("mail", is_plain=True),
        "POOLDECK_EMAIL_TO": "dba@example.org",
    }


def prepare_home(home: Path, secrets: Secrets) -> None:
    """Let the demo's servers get secrets that are known here, and no dataset, which takes long."""
    home.mkdir()
    passwords = {name: secrets.choose(name, is_plain=True) for name in ("postgres", "app", "pgbouncer", "redis")}
    kept = home / "installation.json"
    kept.write_text(json.dumps({"passwords": passwords, "demo": {"dataset was prepared": True}}))
    kept.chmod(0o600)


def add_what_was_made(started: Installation, secrets: Secrets) -> None:
    """Look for what the installation has made by itself too."""
    secrets.add("password of the admin", started.quickstart["password"])
    secrets.add("token of the admin", started.api.token, is_stored_hashed=True)
    for name in ("keys", "secret_key"):
        secrets.add(f"file {name}", (started.home / name).read_text().strip())


def redis_url(started: Installation, secrets: Secrets) -> str:
    """Return the address of its Redis."""
    port = json.loads((started.home / "installation.json").read_text())["ports"]["redis"]
    return f"redis://:{secrets.known['redis']}@127.0.0.1:{port}/0"
