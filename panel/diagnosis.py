"""What a support person would ask about an installation: each answer with whether it is well, and the remedy."""

import os
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from platform import python_version

from django.conf import settings
from django.core.checks import WARNING, run_checks
from django.db import DatabaseError, connection

from benchmarks.engines import DEFAULT_ENGINE, engine
from benchmarks.errors import BenchmarksError
from core.installation import pausing, schema
from core.lib import queues, redis_client
from core.lib.figures import signed
from panel import health, versions

CLOCKS_APART_S = 2.0  # leases and heartbeats are compared over machines
LEAST_FREE_BYTES, LEAST_FREE_SHARE = 1 << 30, 0.05
WAITING_TASKS = 100  # beat sends about 20 a minute, which an idle worker takes at once
OTHERS = stat.S_IRWXG | stat.S_IRWXO
SECRETS = ("secret_key", "keys")
REMEDIES = {"database": "start PostgreSQL, or correct DATABASE_URL", "redis": "start Redis, or correct REDIS_URL"}


@dataclass(frozen=True)
class Answer:
    """An answer; `remedy` says what to do where it is not `is_ok`."""

    subject: str
    text: str
    is_ok: bool = True
    remedy: str = ""


def answers() -> Iterator[Answer]:
    """Yield all answers; a part that does not answer is an answer too."""
    for question in QUESTIONS:
        yield from question()


def _versions() -> Iterator[Answer]:
    yield Answer("Pooldeck", versions.installed())
    yield Answer("Python", f"{python_version()}, Django {version('django')}, Celery {version('celery')}")
    try:
        yield Answer(DEFAULT_ENGINE, engine(DEFAULT_ENGINE).find().version_text)
    except BenchmarksError as error:
        yield Answer(DEFAULT_ENGINE, f"{error}. Only workers that take runs need it")


def _parts() -> Iterator[Answer]:
    for name, check in health.PARTS.items():
        try:
            check()
        except health.Down as down:
            cause = f" ({down.__cause__})" if down.__cause__ else ""
            yield Answer(name, f"{down}{cause}", is_ok=False, remedy=REMEDIES.get(name, ""))
        else:
            yield Answer(name, SERVERS[name]() if name in SERVERS else "ok")


def _schema() -> Iterator[Answer]:
    try:
        unknown = schema.unknown_migrations()
    except DatabaseError:
        return  # its own answer says so
    if unknown:
        text = f"the metadata database is of a newer release: this one does not know {', '.join(unknown[:5])}"
        remedy = "start the newer release, or restore a backup of this one"
        yield Answer("schema", text, is_ok=False, remedy=remedy)
    else:
        yield Answer("schema", "every migration of the metadata database is known to this release")


def _database_version() -> str:
    statement = "SHOW server_version" if connection.vendor == "postgresql" else "SELECT sqlite_version()"
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return f"{connection.vendor} {cursor.fetchone()[0]}"


def _redis_version() -> str:
    with redis_client.opened() as client:
        return str(client.info("server")["redis_version"])


SERVERS = {"database": _database_version, "redis": _redis_version}


def _clocks() -> Iterator[Answer]:
    for name, ask in (("database", _time_of_database), ("redis", _time_of_redis)):
        try:
            apart_s = ask() - time.time()
        except (DatabaseError, *redis_client.ERRORS):
            continue  # its own answer says so
        remedy = "set both clocks by NTP (timedatectl set-ntp true): leases and heartbeats compare them"
        is_ok = abs(apart_s) <= CLOCKS_APART_S
        yield Answer(f"clock of {name}", f"{signed(apart_s, 1)} s from this machine's", is_ok, "" if is_ok else remedy)


def _time_of_database() -> float:
    if connection.vendor != "postgresql":
        return time.time()  # SQLite has this machine's
    with connection.cursor() as cursor:
        cursor.execute("SELECT extract(epoch FROM clock_timestamp())")
        return float(cursor.fetchone()[0])


def _time_of_redis() -> float:
    with redis_client.opened() as client:
        seconds, microseconds = client.time()
    return seconds + microseconds / 1e6


def _queues() -> Iterator[Answer]:
    try:
        with redis_client.opened() as client:
            lengths = {name: int(client.llen(name)) for name in (queues.TASKS, queues.RUNS)}
    except redis_client.ERRORS:
        return
    for name, length in lengths.items():
        is_ok = name == queues.RUNS or length <= WAITING_TASKS
        remedy = "start more workers (POOLDECK_WORKER=tasks celery -A panel worker), or see what their logs say"
        yield Answer(f"queue {name}", f"{length} waiting", is_ok, "" if is_ok else remedy)


def _disk() -> Iterator[Answer]:
    try:
        usage = shutil.disk_usage(settings.HOME)
    except OSError as error:
        yield Answer("disk", str(error), is_ok=False, remedy="make the folder, or correct POOLDECK_HOME")
        return
    is_ok = usage.free >= LEAST_FREE_BYTES and usage.free >= LEAST_FREE_SHARE * usage.total
    text = f"{usage.free / 1e9:.1f} GB of {usage.total / 1e9:.1f} GB free at {settings.HOME}"
    yield Answer("disk", text, is_ok, "" if is_ok else "free space: a full disk stops logs, runs and applies")


def _permissions() -> Iterator[Answer]:
    home = Path(settings.HOME)
    for path in (home, *(Path(settings.SECRETS_FOLDER) / name for name in SECRETS)):
        if not path.exists():
            continue
        found = path.stat()
        if found.st_mode & OTHERS and path != home:
            remedy = f"chmod go= {path}, and make new keys if others may have read it"
            yield Answer("permissions", f"{path} is open to others ({stat.filemode(found.st_mode)})", False, remedy)
        elif not os.access(path, os.W_OK if path == home else os.R_OK):
            remedy = f"chown it to the account that runs the panel (uid {os.geteuid()})"
            yield Answer("permissions", f"{path} can't be used by uid {os.geteuid()}", False, remedy)
        else:
            yield Answer("permissions", f"{path}: {stat.filemode(found.st_mode)}")


def _state() -> Iterator[Answer]:
    try:
        is_paused = pausing.is_paused()
    except DatabaseError:
        return
    text = "it is paused: nothing is applied, checked or run" if is_paused else "it is not paused"
    yield Answer("installation", text, not is_paused, "resume it at /installation/" if is_paused else "")


def _checks() -> Iterator[Answer]:
    try:
        found = run_checks(include_deployment_checks=False, databases=["default"])
    except DatabaseError:
        found = run_checks()
    for message in found:
        if message.level >= WARNING and not message.is_silenced():
            yield Answer(f"check {message.id}", str(message.msg), False, str(message.hint or ""))


QUESTIONS: tuple[Callable[[], Iterator[Answer]], ...] = (
    _versions,
    _parts,
    _schema,
    _clocks,
    _queues,
    _disk,
    _permissions,
    _state,
    _checks,
)
