"""What a support person would ask about an installation: each answer with whether it is well, and the remedy."""

import os
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from platform import python_version

import redis
from django.conf import settings
from django.core.checks import WARNING, run_checks
from django.db import DatabaseError, connection

from benchmarks.engines import DEFAULT_ENGINE, engine
from benchmarks.errors import BenchmarksError, QueueDown
from benchmarks.generators import heartbeats
from benchmarks.processes import sandbox
from core.audit import rights
from core.audit.stream import state
from core.installation import key_rotation, pausing, schema, trail
from core.installation.key_rotation import Keys
from core.lib import queues, redis_client, upgrade_backups
from core.lib.figures import signed
from panel import health, versions

CLOCKS_APART_S = 2.0  # leases and heartbeats are compared over machines
LEAST_FREE_BYTES, LEAST_FREE_SHARE = 1 << 30, 0.05
LEAST_FREE_INODES = 10_000
WAITING_TASKS = 100  # beat sends about 20 a minute, which an idle worker takes at once
FULL_REDIS_SHARE = 0.9  # of its maxmemory
OTHERS = stat.S_IRWXG | stat.S_IRWXO
SECRETS = ("secret_key", "keys")
# Remedies are for an installation by script/install, whose services are run by systemd.
REMEDIES = {
    "database": "start PostgreSQL, or correct DATABASE_URL",
    "migrations": "pooldeckctl migrate (manage.py migrate in a checkout), then restart web, workers and beat",
    "redis": "start Redis (systemctl start pooldeck-redis), or correct REDIS_URL",
    "worker": "systemctl start pooldeck-tasks pooldeck-runs; if one ends again, journalctl -u pooldeck-tasks says why",
    "beat": "systemctl start pooldeck-beat; if it ends again, journalctl -u pooldeck-beat says why",
}


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


def _sandbox() -> Iterator[Answer]:
    try:
        program = engine(DEFAULT_ENGINE).find().path
    except BenchmarksError:
        return  # its own answer says so
    try:
        text = f"scripts of users run in {sandbox.mechanism_for(program).NAME}"
    except sandbox.NoSandbox as error:
        text = str(error)
    yield Answer("sandbox", text)


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
        yield _clock_of(name, apart_s)
    try:
        ahead_s = heartbeats.clocks_ahead_s()
    except QueueDown:
        return  # its own answer says so
    for worker, apart_s in ahead_s.items():
        yield _clock_of(f"worker {worker}", apart_s)


def _clock_of(name: str, apart_s: float) -> Answer:
    remedy = "set both clocks by NTP (timedatectl set-ntp true): leases and heartbeats compare them"
    is_ok = abs(apart_s) <= CLOCKS_APART_S
    return Answer(f"clock of {name}", f"{signed(apart_s, 1)} s from this machine's", is_ok, "" if is_ok else remedy)


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
            left = {name: _left_by(name, client) for name in _silent_workers()}
    except (QueueDown, *redis_client.ERRORS):
        return
    for name, length in lengths.items():
        is_ok = name == queues.RUNS or length <= WAITING_TASKS
        remedy = "start more workers (POOLDECK_WORKER=tasks celery -A panel worker), or see what their logs say"
        yield Answer(f"queue {name}", f"{length} waiting", is_ok, "" if is_ok else remedy)
    for name, length in left.items():
        if length:
            text = f"{length} waiting for worker {name} alone, which sent no heartbeat lately"
            yield Answer(
                f"queue of {name}", text, False, f"start the worker with POOLDECK_GENERATOR={name} on its host"
            )


def _silent_workers() -> set[str]:
    """Return the names of workers that were heard of in the last week, but not lately."""
    now = datetime.now(UTC)
    seen = [*heartbeats.seen(heartbeats.RUNS), *heartbeats.seen(heartbeats.TASKS)]
    return {one.name for one in seen} - {one.name for one in seen if one.is_alive(now)}


def _left_by(name: str, client: "redis.Redis") -> int:
    """Return how many tasks wait that only the worker of this name takes."""
    return sum(int(client.llen(queue)) for queue in (queues.of_generator(name), queues.of_poolers(name)))


def _redis_memory() -> Iterator[Answer]:
    try:
        with redis_client.opened() as client:
            found = client.info("memory")
    except redis_client.ERRORS:
        return  # its own answer says so
    used, limit, policy = int(found["used_memory"]), int(found["maxmemory"]), str(found["maxmemory_policy"])
    text = f"{used / 1e6:,.0f} MB of {f'{limit / 1e6:,.0f} MB' if limit else 'no limit'}, maxmemory-policy {policy}"
    if limit and policy != "noeviction":
        yield Answer("memory of redis", text, False, "set maxmemory-policy noeviction: a full Redis would drop tasks")
    elif limit and used > FULL_REDIS_SHARE * limit:
        yield Answer("memory of redis", text, False, "raise maxmemory, or see above which queue is long")
    else:
        yield Answer("memory of redis", text)


def _disk() -> Iterator[Answer]:
    try:
        usage = shutil.disk_usage(settings.HOME)
    except OSError as error:
        yield Answer("disk", str(error), is_ok=False, remedy="make the folder, or correct POOLDECK_HOME")
        return
    is_ok = usage.free >= LEAST_FREE_BYTES and usage.free >= LEAST_FREE_SHARE * usage.total
    text = f"{usage.free / 1e9:.1f} GB of {usage.total / 1e9:.1f} GB free at {settings.HOME}"
    yield Answer("disk", text, is_ok, "" if is_ok else "free space: a full disk stops logs, runs and applies")
    inodes = os.statvfs(settings.HOME)
    if inodes.f_files and inodes.f_favail < LEAST_FREE_INODES:
        text = f"{inodes.f_favail} of {inodes.f_files} inodes are free at {settings.HOME}"
        yield Answer("disk", text, False, "remove files, or make a file system with more inodes")


def _permissions() -> Iterator[Answer]:
    yield from _permissions_of_environment()
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


def _permissions_of_environment() -> Iterator[Answer]:
    """Yield an answer where others may read the settings of script/install, which hold the database's password."""
    path = Path(settings.SECRETS_FOLDER) / "environment"
    try:
        mode = path.stat().st_mode
    except OSError:
        return
    if mode & stat.S_IRWXO:
        text = f"{path} is open to others ({stat.filemode(mode)}), and it has the password of the metadata database"
        yield Answer(
            "permissions", text, False, f"chmod o= {path}, and change that password if others may have read it"
        )


def _state() -> Iterator[Answer]:
    try:
        is_paused = pausing.is_paused()
    except DatabaseError:
        return
    text = "it is paused: nothing is applied, checked or run" if is_paused else "it is not paused"
    yield Answer("installation", text, not is_paused, "resume it at /installation/" if is_paused else "")


def _keys() -> Iterator[Answer]:
    """Answer for each key whether stored secrets need it."""
    try:
        found = key_rotation.count()
    except DatabaseError:
        return
    for number, (name, secrets) in enumerate(zip(Keys().names, found.by_key, strict=True)):
        is_left = bool(number and secrets)
        remedy = "run python manage.py rotate_keys, and remove this key only then" if is_left else ""
        if number and not secrets:
            remedy = "remove it from POOLDECK_KEYS on every host: nothing needs it any more"
        yield Answer("keys", f"key {number + 1} ({name}) encrypts {secrets} stored secrets", not is_left, remedy)


def _workers_elsewhere() -> Iterator[Answer]:
    """Name the machines that hold the keys beside this one: whoever takes one of them can do what the panel can."""
    try:
        found = heartbeats.workers_elsewhere()
    except QueueDown:
        return  # its own answer says so
    if found:
        names = ", ".join(f"{name} on {machine}" for name, machine in found.items())
        text = f"these hold the keys and the database's login too: {names}"
        remedy = "reach those machines by SSH instead, which takes neither there: docs/how-to/worker-to-ssh.md"
        yield Answer("workers elsewhere", text, remedy=remedy)


def _backups() -> Iterator[Answer]:
    """Warn of a backup that is missing or old, by what the audit trail knows; name those that upgrades left."""
    try:
        made_at = trail.last_backup_at()
    except DatabaseError:
        return
    age = datetime.now(UTC) - made_at if made_at else None
    text = f"the last one is {age.total_seconds() / 86400:.1f} days old" if age else "none was made"
    is_late = bool(settings.BACKUP_DAYS) and (age is None or age > timedelta(days=settings.BACKUP_DAYS))
    yield Answer(
        "backup", text, remedy="pooldeckctl backup FOLDER, or each night: docs/how-to/backup.md" if is_late else ""
    )
    if found := upgrade_backups.found_in(upgrade_backups.FOLDER):
        text = f"{len(found)} of upgrades in {upgrade_backups.FOLDER}, the newest {found[0].name}"
        yield Answer("backup", f"{text}; an upgrade leaves the newest {settings.UPGRADE_BACKUPS}")


def _audit_stream() -> Iterator[Answer]:
    """Say for each receiver of the audit trail how many entries wait for it since when."""
    try:
        found = state.states()
    except DatabaseError:
        return
    for one in found:
        is_ok = not one.failing_since
        remedy = "" if is_ok else "start the receiver, or correct its setting: all entries are sent then, in order"
        yield Answer("audit stream", one.sentence, is_ok, remedy)


def _audit_rights() -> Iterator[Answer]:
    """Say whether the panel's role can change entries of the audit trail, where the metadata database has roles."""
    if connection.vendor != "postgresql":
        return
    try:
        with connection.cursor() as cursor:
            found = rights.beyond_appending(cursor)
    except DatabaseError:
        return
    text = "the panel's role may only read and add entries"
    if found:
        text = (
            f"the panel's role could change or remove entries ({', '.join(found)}): docs/reference/audit.md has the SQL"
        )
    yield Answer("audit rights", text)


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
    _sandbox,
    _parts,
    _schema,
    _clocks,
    _queues,
    _redis_memory,
    _disk,
    _permissions,
    _state,
    _keys,
    _workers_elsewhere,
    _backups,
    _audit_stream,
    _audit_rights,
    _checks,
)
