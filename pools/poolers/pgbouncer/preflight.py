"""Preflight: starts a trial instance of PgBouncer on a copy of the files; RELOAD would half-apply bad ones."""

import os
import pwd
import re
import secrets
import socket
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path, PurePosixPath

from django.utils.translation import gettext as _

from pools.config_files import deliveries
from pools.hosts.base import HostConnection
from pools.models import Pooler
from pools.poolers import host_processes, local_process, program_trust
from pools.poolers import settings_schema as settings_of
from pools.poolers.faults import Rejected
from pools.poolers.local_process import SEARCH_PATH, hand_over
from pools.poolers.pgbouncer import console, global_settings, operators_config, processes, releases, render, values
from pools.poolers.pgbouncer.global_settings import SETTINGS
from pools.poolers.pgbouncer.render import DATABASES, MAIN, USERLIST

START_TIMEOUT_S = 10
PREFIX = host_processes.PREFIX
TRIAL = host_processes.Trial((f"@/{MAIN}",), "process up", START_TIMEOUT_S)
PORTS, PORTS_TRIED = range(20_000, 30_000), 5  # a trial on another host uses these, below those given to clients
INCLUDE = re.compile(r"^[ \t]*%include[ \t]+([^\n]*?)[ \t\r]*$", re.MULTILINE)
OF_THE_REAL_ONE = re.compile(
    r"^[ \t]*(?:listen_addr|listen_port|unix_socket_dir|logfile|pidfile|auth_file|so_reuseport|syslog|user)[ \t]*=.*$",
    re.MULTILINE,
)
LOG_PREFIX = re.compile(r"^\S+ \S+ \S+ \[?\d+\]? ")


def find(pooler: Pooler, version_text: str) -> str | None:
    """Return the path of a pgbouncer on the pooler's host of exactly this release; None where there is none."""
    delivery = deliveries.of(pooler)
    if not delivery.runs_here:
        with delivery.connected(pooler) as host:
            return host_processes.program_of(pooler, host, "pgbouncer", version_text.__eq__) if host else None
    return local_process.find_program(
        pooler, "pgbouncer", SEARCH_PATH, lambda printed: printed.startswith(f"{version_text}\n")
    )


def start(pooler: Pooler, path: str, texts: Mapping[str, str], folder_there: str, included: Mapping[str, str]) -> None:
    """Start a trial instance on these texts and stop it; raises `Rejected` with its errors where it would not start.

    It listens only on a free port of 127.0.0.1, as the folder's owner, and connects to no server, so that no password
    has to leave config_dir for it. `folder_there` is config_dir as the real pooler sees it, `included` are the texts of
    files that the operator includes, by the paths in their lines.
    """
    try:
        trial_error = _trial_error(pooler, path, texts, folder_there, included)
    except OSError as error:
        raise Rejected(
            _("a trial instance of PgBouncer could not be started: %(reason)s") % {"reason": error.strerror}
        ) from error
    if trial_error:
        raise Rejected(
            _("PgBouncer would not start on these files, so they were not written: %(error)s") % {"error": trial_error}
        )


def _trial_error(
    pooler: Pooler, path: str, texts: Mapping[str, str], folder_there: str, included: Mapping[str, str]
) -> str:
    """Return the program's error where it would not start on these texts, else ''; raises `OSError`."""
    delivery, config_dir = deliveries.of(pooler), pooler.config_dir
    if not delivery.runs_here:
        with delivery.connected(pooler) as host:
            return _trial_error_there(host, path, texts, config_dir, folder_there, included) if host else ""
    return _trial_error_here(path, texts, config_dir, folder_there, included)


def start_here(path: str, texts: Mapping[str, str], config_dir: str, folder_there: str) -> None:
    """Do as `start` on this host, whichever the pooler's is. Raises `Rejected`."""
    if trial_error := _trial_error_here(path, texts, config_dir, folder_there, {}):
        raise Rejected(_("PgBouncer would not start on these files: %(error)s") % {"error": trial_error})


def _trial_error_here(
    path: str, texts: Mapping[str, str], config_dir: str, folder_there: str, included: Mapping[str, str]
) -> str:
    # a private key has to be there: in the folder that it belongs to
    with tempfile.TemporaryDirectory(prefix=PREFIX, dir=config_dir if _holds_key(texts) else None) as name:
        folder, owner = Path(name), Path(config_dir).stat()
        # The path is relative, since only the panel may be let into the folders above config_dir.
        path_there = folder.name if folder.parent == Path(config_dir) else name
        moved = _redirected(texts, path_there, folder_there, pwd.getpwuid(owner.st_uid).pw_name, _free_port())
        for file_name, text in _with_copies(moved, included, path_there).items():
            (folder / file_name).write_bytes(text.encode(errors="surrogateescape"))
        trial_error = _run([path, f"{path_there}/{MAIN}"], folder, config_dir, owner)
    return trial_error.replace(f"{path_there}/", "")


def _trial_error_there(
    host: HostConnection,
    path: str,
    texts: Mapping[str, str],
    config_dir: str,
    folder_there: str,
    included: Mapping[str, str],
) -> str:
    """Do the same on another host, where a free port is found by trying."""
    folder = f"{config_dir if _holds_key(texts) else '/tmp'}/{PREFIX}{secrets.token_hex(8)}"  # noqa: S108 (made there)
    trial_error = ""
    for _attempt in range(PORTS_TRIED):
        port = secrets.choice(PORTS)
        moved = _redirected(texts, folder, folder_there, host_processes.owner_of(host, config_dir), port)
        files = _with_copies(moved, included, folder)
        log, exit_code = host_processes.tried(host, path, config_dir, files, TRIAL, folder)
        trial_error = _faults(log.splitlines(), partial(int, exit_code))
        if "already in use" not in trial_error:
            break
    return trial_error


def _holds_key(texts: Mapping[str, str]) -> bool:
    return any(render.PRIVATE_KEY.search(text) for text in texts.values())


def _redirected(texts: Mapping[str, str], folder: str, folder_there: str, user: str, port: int) -> dict[str, str]:
    """Redirect everything that would reach the real pooler; a later setting overrides an earlier one."""
    referenced = {name: text for name, text in texts.items() if name in global_settings.REFERENCED}
    masked = render.masked({name: text for name, text in texts.items() if name not in referenced})
    settings = re.sub(rf"(?m) = {re.escape(folder_there)}/(pooldeck_)", rf" = {folder}/\1", masked.get(SETTINGS, ""))
    databases = re.sub(r"min_pool_size=\S+", "min_pool_size='0'", masked.get(DATABASES, ""))
    lines = [f"{key} = {value}" for key, value in _overrides(masked[MAIN], folder, user, port).items()]
    main = render.INCLUDE.sub(lambda _: f"%include {folder}/{DATABASES}", masked[MAIN])
    return {
        **referenced,
        **masked,
        SETTINGS: settings + "\n".join([*lines, ""]),
        DATABASES: databases,
        MAIN: _with_settings_last(main, folder),
    }


def _with_copies(texts: Mapping[str, str], included: Mapping[str, str], folder: str) -> dict[str, str]:
    """Add copies of included files, and lead the lines that include them there.

    The real ones may be out of the reach of the folder's owner, or relative to another working directory; and what they
    say of sockets and files would come after the trial's own, so it is left out.
    """
    names = {path: f"included-{number}-{PurePosixPath(path).name}" for number, path in enumerate(included, start=1)}

    def to_copy(found: re.Match[str]) -> str:
        return f"%include {folder}/{names[found[1]]}" if found[1] in names else found[0]

    copies = {names[path]: OF_THE_REAL_ONE.sub("", text) for path, text in included.items()}
    main = {MAIN: texts[MAIN]}
    return {
        USERLIST: "",
        **texts,
        **{name: INCLUDE.sub(to_copy, text) for name, text in (main | render.masked(copies)).items()},
    }


def _with_settings_last(main: str, folder: str) -> str:
    """Append the settings, and their overrides, to the [pgbouncer] section of pgbouncer.ini.

    Below an include of the operator's their lines come after the overrides, so the real one's files and sockets are
    left out there, as in the included file.
    """
    line = f"%include {folder}/{SETTINGS}"
    if render.SETTINGS_INCLUDE.search(main):
        ending = render.SETTINGS_INCLUDE.sub(lambda _: line, main)
    else:
        ending = render.with_last_lines(main, line)
    if line not in ending:
        return f"{main}\n[pgbouncer]\n{line}\n"
    above, _line, below = ending.rpartition(line)
    return above + line + OF_THE_REAL_ONE.sub("", below)


def _overrides(main: str, folder: str, user: str, port: int) -> dict[str, str]:
    settings = {
        "listen_addr": "127.0.0.1",
        "listen_port": str(port),
        "unix_socket_dir": "",
        "logfile": f"{folder}/log",
        "pidfile": f"{folder}/pid",
        "auth_file": f"{folder}/{USERLIST}",
        "so_reuseport": "0",
        "syslog": "0",
    }
    if re.search(r"^\s*user\s*=", main, re.MULTILINE):
        settings["user"] = user
    return settings


def _run(argv: list[str], folder: Path, config_dir: str, owner: os.stat_result) -> str:
    """Return its errors before it ended; empty once it is up (then it is killed)."""
    with subprocess.Popen(
        [*hand_over(folder, owner), *argv],
        cwd=config_dir,
        env=program_trust.environment(SEARCH_PATH),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        deadline = threading.Timer(START_TIMEOUT_S, child.kill)
        deadline.start()
        try:
            return _faults(child.stderr or (), child.wait)
        finally:
            deadline.cancel()
            child.kill()


def _faults(lines: Iterable[str], exit_code: Callable[[], int]) -> str:
    """Return the errors of its log before it was up; empty where it came up."""
    faults = []
    for line in lines:
        if "process up" in line:
            return ""
        if re.search(r"\b(ERROR|FATAL)\b", line):
            faults.append(LOG_PREFIX.sub("", render.masked({MAIN: line})[MAIN].strip()))
    return "; ".join(faults) or _("it ended with exit code %(code)d") % {"code": exit_code()}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def start_error(pooler: Pooler, texts: Mapping[str, str]) -> str:
    """Return why a start on these files would fail; empty where it would not, or can't be tried here."""
    path = find(pooler, pooler.server_version)
    if path is None:
        return ""
    try:
        reading = operators_config.of_folder(pooler, texts.get(MAIN, ""), texts, pooler.config_dir)
        return _trial_error(pooler, path, texts, pooler.config_dir, reading.files)
    except OSError:
        return ""


def reload_changes(pooler: Pooler, texts: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence per setting of the operator's that differs from SHOW CONFIG; raises `PoolerUnreachable`."""
    reading = operators_config.of_folder(pooler, texts.get(MAIN, ""), texts, pooler.config_dir)
    own, panels = reading.values("pgbouncer"), global_settings.written(texts.get(SETTINGS, ""))
    version = releases.version_of(pooler.server_version)
    with processes.opened(pooler) as found:  # the process of this file, where several share the port
        rows = console.rows(processes.main_first(pooler, found)[0].console, "config")
    for row in rows:
        name, setting = str(row["key"]), global_settings.setting_of(str(row["key"]), version)
        if name not in own or name in panels:
            continue
        live = settings_of.readable(setting, str(row["value"] or ""))
        if not values.same(setting, live, own[name]):
            yield settings_of.changed_by(name, live, own[name], by_restart=row.get("changeable") == "no")
