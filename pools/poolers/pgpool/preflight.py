"""Preflight: starts a trial instance of Pgpool-II on a copy of the files; a reload would half-apply bad ones."""

import os
import re
import secrets
import signal
import socket
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from django.utils.translation import gettext as _

from pools.config_files import deliveries
from pools.hosts.base import HostConnection
from pools.models import Pooler
from pools.poolers import host_processes, local_process, program_trust, settings_schema
from pools.poolers.faults import Rejected
from pools.poolers.local_process import SEARCH_PATH, hand_over
from pools.poolers.pgpool import render, settings_catalog, sql, verify
from pools.poolers.pgpool.render import HBA, MAIN, PCP
from pools.poolers.settings_schema import Version

START_TIMEOUT_S = 20
UP = "successfully started"  # a message of its log
PORTS, PORTS_TRIED = range(20_000, 30_000, 2), 5  # ports of a trial instance on another host, two for each
STOP_TIMEOUT_S = 5
SIGNS = re.compile(r"\b(?:ERROR|FATAL|PANIC):\s*(.+)")
COMMANDS = ("failover_command", "failback_command", "follow_primary_command", "ssl_passphrase_command")


def find(pooler: Pooler, version_text: str) -> str | None:
    """Return the path of a pgpool on the pooler's host of exactly this release; None where there is none."""
    release = re.compile(rf"\b{re.escape(version_text.removeprefix('Pgpool-II '))}\b")

    def is_release(printed: str) -> bool:
        return release.search(printed) is not None

    delivery = deliveries.of(pooler)
    if not delivery.runs_here:
        with delivery.connected(pooler) as host:
            return host_processes.program_of(pooler, host, "pgpool", is_release) if host else None
    return local_process.find_program(pooler, "pgpool", SEARCH_PATH, is_release)


def start(pooler: Pooler, program: str, version: Version, texts: Mapping[str, str]) -> None:
    """Start a trial instance on these texts and stop it; raises `Rejected` with its errors where it would not start.

    It listens only on free ports of 127.0.0.1, as the folder's owner, and its backends lead to a closed port, so that
    no password has to leave config_dir for it.
    """
    try:
        trial_error = _trial_error(pooler, program, version, texts)
    except OSError as error:
        raise Rejected(
            _("a trial instance of Pgpool-II could not be started: %(reason)s") % {"reason": error.strerror}
        ) from error
    if trial_error:
        raise Rejected(
            _("Pgpool-II would not start on these files, so they were not written: %(error)s") % {"error": trial_error},
            settings=True,
        )


def _trial_error(pooler: Pooler, program: str, version: Version, texts: Mapping[str, str]) -> str:
    """Return the program's error where it would not start on these texts, else ''; raises `OSError`."""
    delivery = deliveries.of(pooler)
    if not delivery.runs_here:
        with delivery.connected(pooler) as host:
            return _trial_error_there(host, pooler.config_dir, program, version, texts) if host else ""
    with tempfile.TemporaryDirectory(prefix="pooldeck-preflight-") as name:
        folder, owner = Path(name), Path(pooler.config_dir).stat()
        with _free_port() as port, _free_port() as pcp_port:
            ports = port.getsockname()[1], pcp_port.getsockname()[1]
        for file_name, text in _redirected(render.masked(texts), name, version, ports).items():
            (folder / file_name).write_bytes(text.encode(errors="surrogateescape"))
        return _run([program, *_arguments(f"{name}/")], folder, owner).replace(f"{folder}/", "")


def _trial_error_there(
    host: HostConnection, config_dir: str, program: str, version: Version, texts: Mapping[str, str]
) -> str:
    """Do the same on another host, where free ports are found by trying."""
    trial = host_processes.Trial(_arguments("@/"), UP, START_TIMEOUT_S, stop="INT")
    trial_error = ""
    for _attempt in range(PORTS_TRIED):
        folder = f"/tmp/{host_processes.PREFIX}{secrets.token_hex(8)}"  # noqa: S108 (made there, with mode 0700)
        port = secrets.choice(PORTS)
        moved = _redirected(render.masked(texts), folder, version, (port, port + 1))
        log, exit_code = host_processes.tried(host, program, config_dir, moved, trial, folder)
        trial_error = _faults(log.splitlines()) or (_ended_with(exit_code) if exit_code else "")
        if "already in use" not in trial_error:
            break
    return trial_error


def _arguments(folder: str) -> tuple[str, ...]:
    files = {"-f": MAIN, "-F": PCP, "-a": HBA}
    return ("-n", "-D", *(word for flag, name in files.items() for word in (flag, f"{folder}{name}")))


def _redirected(texts: Mapping[str, str], folder: str, version: Version, ports: tuple[int, int]) -> dict[str, str]:
    """Redirect everything that would reach the real program or a server; a later setting overrides."""
    settings = {
        "listen_addresses": "127.0.0.1",
        "port": str(ports[0]),
        "pcp_port": str(ports[1]),
        "pcp_listen_addresses": "127.0.0.1",
    }
    settings |= {"socket_dir" if version < (4, 4) else "unix_socket_directories": folder}
    settings |= {"pcp_socket_dir": folder, "wd_ipc_socket_dir": folder}
    settings |= {"logdir" if version < (4, 7) else "work_dir": folder, "pid_file_name": f"{folder}/pid"}
    settings |= {"use_watchdog": "off", "ssl": "off", "memory_cache_enabled": "off", "logging_collector": "off"}
    settings |= {"num_init_children": "1", "enable_shared_relcache": "off", "reserved_connections": "0"}
    settings |= {"health_check_period": "0", "sr_check_period": "0", "search_primary_node_timeout": "1"}
    settings |= {"backend_clustering_mode": "raw", "log_destination": "stderr", "log_min_messages": "log"}
    settings |= dict.fromkeys(COMMANDS, "")
    for name in render.values_in(texts[MAIN]):
        if re.fullmatch(r"backend_(hostname|port)\d+", name):
            settings[name] = "127.0.0.1" if "hostname" in name else "1024"
    return {**texts, MAIN: f"{texts[MAIN].rstrip()}\n{render.settings(settings)}"}


def _free_port() -> socket.socket:
    probe = socket.socket()
    probe.bind(("127.0.0.1", 0))
    return probe


def _run(argv: list[str], folder: Path, owner: os.stat_result) -> str:
    """Return its errors before it ended; empty once it is up (then it is stopped)."""
    with subprocess.Popen(
        [*hand_over(folder, owner), *argv],
        cwd=folder,
        env=program_trust.environment(SEARCH_PATH),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as child:
        deadline = threading.Timer(START_TIMEOUT_S, _end, [child, signal.SIGKILL])
        deadline.start()
        try:
            return _message_of(child)
        finally:
            deadline.cancel()
            _stop(child)


def _message_of(child: "subprocess.Popen[str]") -> str:
    lines = []
    for line in child.stderr or ():
        if UP in line:
            return ""
        lines.append(line)
    return _faults(lines) or _ended_with(child.wait())


def _faults(lines: Sequence[str]) -> str:
    """Return the errors of its log; empty where it came up."""
    if any(UP in line for line in lines):
        return ""
    found = (SIGNS.search(render.masked({MAIN: line})[MAIN]) for line in lines)
    return "; ".join(one[1].strip() for one in found if one)


def _ended_with(exit_code: int) -> str:
    return _("it ended with exit code %(code)d") % {"code": exit_code}


def _stop(child: "subprocess.Popen[str]") -> None:
    """Ask it to end, so that it leaves no shared memory behind; then end what is left of it."""
    _end(child, signal.SIGINT)
    with suppress(subprocess.TimeoutExpired):
        child.wait(STOP_TIMEOUT_S)
    _end(child, signal.SIGKILL)


def _end(child: "subprocess.Popen[str]", with_signal: signal.Signals) -> None:
    """Signal the program alone while it may clean up, and its children too when it must end."""
    with suppress(ProcessLookupError):
        if with_signal == signal.SIGKILL:
            os.killpg(child.pid, with_signal)
        elif child.poll() is None:
            child.send_signal(with_signal)


def start_error(pooler: Pooler, version: Version, texts: Mapping[str, str]) -> str:
    """Return why a start on these files would fail; empty where it would not, or can't be tried here."""
    path = find(pooler, pooler.server_version)
    if path is None:
        return ""
    try:
        return _trial_error(pooler, path, version, texts)
    except OSError:
        return ""


def reload_changes(pooler: Pooler, version: Version, texts: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence per setting of pgpool.conf that differs from PGPOOL SHOW ALL; raises `PoolerUnreachable`."""
    main = texts.get(MAIN, "")
    with sql.open(pooler) as opened:
        live = sql.settings(opened)
    known = settings_catalog.by_name(version)
    panels = render.values_in(render.ours(main))
    own = {name: value for name, value in render.values_in(main).items() if name not in panels and name in known}
    for name, (now, wanted) in verify.differences(live, own, known).items():
        yield settings_schema.changed_by(name, now, wanted, by_restart=verify.waits_for_restart(name, known))
