"""script/install: its units, its pieces run alone in a folder, and what it refuses.

tests/live/panel/test_install.py runs it whole.
"""

import configparser
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from panel.quickstart import account
from panel.quickstart.panel_programs import Beat, Generator, Web, Worker

ROOT = Path(__file__).resolve().parent.parent
DEPLOY = ROOT / "deploy" / "debian"
UNITS = DEPLOY / "systemd"
PARTS = (
    "install",
    "install-steps.sh",
    "install-address.sh",
    "install-database.sh",
    "uninstall-steps.sh",
    "machine.sh",
    "strangers-hour",
)
PYTHON = "/opt/pooldeck/current/bin/python"


def unit(name: str) -> configparser.SectionProxy:
    """The section [Service] of a unit, with what all of them have in common."""
    parser = configparser.RawConfigParser(strict=False, delimiters=("=",))
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    folder = UNITS / f"pooldeck-{name}.service.d"
    parser.read(
        [UNITS / f"pooldeck-{name}.service", UNITS / "pooldeck-.service.d/10-common.conf", *sorted(folder.glob("*"))]
    )
    return parser["Service"]


def words_of(name: str) -> list[str]:
    command = unit(name)["ExecStart"].replace("%%", "%").split()
    assert command[0] == PYTHON
    return command[1:]


def test_services_are_the_programs_of_the_quickstart(tmp_path: Path) -> None:
    assert words_of("web")[:2] == Web(tmp_path, 8000).argv[1:3]
    assert words_of("tasks") == [word.replace("worker@", "tasks@") for word in Worker(tmp_path).argv[1:]]
    assert words_of("runs") == [word.replace("generator@", "runs@") for word in Generator(tmp_path).argv[1:]]
    assert words_of("beat") == Beat(tmp_path).argv[1:]
    taken = {name: unit(name).parser for name in ("tasks", "runs")}
    assert {name: f"POOLDECK_WORKER={name}" in (UNITS / f"pooldeck-{name}.service").read_text() for name in taken} == {
        "tasks": True,
        "runs": True,
    }


@pytest.mark.parametrize("name", ["web", "tasks", "runs", "beat", "redis"])
def test_services_give_up_what_they_do_not_need(name: str) -> None:
    found = unit(name)
    for setting, value in {
        "User": "pooldeck",
        "NoNewPrivileges": "yes",
        "ProtectSystem": "strict",
        "ProtectHome": "yes",
        "PrivateTmp": "yes",
        "PrivateDevices": "yes",
        "CapabilityBoundingSet": "",
        "RestrictSUIDSGID": "yes",
    }.items():
        assert found[setting] == value, setting
    assert found["RestrictNamespaces"] == ("no" if name == "runs" else "yes")


def test_the_target_has_each_service() -> None:
    wanted = re.findall(r"pooldeck-\w+\.service", (UNITS / "pooldeck.target").read_text())
    assert sorted(wanted) == sorted(
        path.name for path in UNITS.glob("*.service") if "PartOf=pooldeck.target" in path.read_text()
    )


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not installed")
def test_systemd_finds_no_fault_in_the_units(tmp_path: Path) -> None:
    folder = tmp_path / "units"
    shutil.copytree(UNITS, folder)
    for path in folder.glob("*.service"):  # neither program has to be here
        path.write_text(re.sub(rf"{PYTHON}|/opt/\S+/pooldeckctl|/usr/bin/redis-server", "/bin/true", path.read_text()))
    done = verify(folder)
    assert (done.returncode, done.stderr) == (0, "")
    (folder / "pooldeck-web.service").write_text("[Service]\nExecStart=nothing\nProtectHomes=yes\n")
    assert verify(folder).stderr != ""


def verify(folder: Path) -> "subprocess.CompletedProcess[str]":
    names = [str(path) for path in [folder / "pooldeck.target", *folder.glob("*.service")]]
    return subprocess.run(
        ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", *names],
        env={**os.environ, "SYSTEMD_UNIT_PATH": f"{folder}:"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.skipif(not shutil.which("shellcheck"), reason="shellcheck is not installed")
@pytest.mark.parametrize("name", PARTS)
def test_shellcheck_finds_no_fault(name: str) -> None:
    words = ["shellcheck", "-x", "-S", "warning", f"script/{name}"]
    assert subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False).stdout == ""


def step(folder: Path, words: str) -> "subprocess.CompletedProcess[str]":
    """Run steps of the installation on a folder in place of the machine."""
    prepared = f"""
        set -euo pipefail
        . script/lib.sh; . script/install-steps.sh; . script/install-database.sh; . script/install-address.sh
        ACCOUNT=$(id -un) HOST=panel.example.org PORT=8000 DATABASE_URL=postgresql://one WHEEL=
        PREFIX={folder}/opt SETTINGS={folder}/etc STATE={folder}/state BACKUPS={folder}/backups
        mkdir -p "$SETTINGS" "$PREFIX/current/bin"; ln -sfn {sys.executable} "$PREFIX/current/bin/python"
        {words}
    """
    return subprocess.run(["bash", "-c", prepared], cwd=ROOT, capture_output=True, text=True, check=False)


def said(folder: Path, words: str) -> list[str]:
    done = step(folder, words)
    assert done.returncode == 0, done.stdout + done.stderr
    return [line.split()[0] for line in done.stdout.splitlines()]


def mode(path: Path) -> str:
    return f"{path.stat().st_mode & 0o777:04o}"


as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to others")


@as_root
def test_keys_are_made_once_and_only_their_owner_reads_them(tmp_path: Path) -> None:
    assert said(tmp_path, "make_secrets") == ["changed", "changed"]
    kept = {name: (tmp_path / "etc" / name).read_text() for name in ("secret_key", "keys")}
    assert {name: mode(tmp_path / "etc" / name) for name in kept} == {"secret_key": "0600", "keys": "0600"}
    assert said(tmp_path, "make_secrets") == ["ok", "ok"]
    (tmp_path / "etc" / "keys").chmod(0o644)
    assert said(tmp_path, "make_secrets") == ["ok", "changed"]
    assert mode(tmp_path / "etc" / "keys") == "0600"
    assert {name: (tmp_path / "etc" / name).read_text() for name in kept} == kept


@as_root
def test_folders_are_made_once_and_get_their_modes_back(tmp_path: Path) -> None:
    assert said(tmp_path, "make_folders") == ["ok", *["changed"] * 4]  # the first is there
    assert {name: mode(tmp_path / name) for name in ("etc", "state", "backups", "opt")} == {
        "etc": "0750",
        "state": "0750",
        "backups": "0700",
        "opt": "0755",
    }
    assert said(tmp_path, "make_folders") == ["ok"] * 5
    (tmp_path / "backups").chmod(0o755)
    assert said(tmp_path, "make_folders") == [*["ok"] * 4, "changed"]


@as_root
def test_settings_of_the_operator_stay_and_missing_ones_are_added(tmp_path: Path) -> None:
    path = tmp_path / "etc" / "environment"
    assert said(tmp_path, "write_settings") == ["changed"]
    assert said(tmp_path, "write_settings") == ["ok"]
    assert mode(path) == "0640"
    written = path.read_text()
    assert "POOLDECK_ALLOWED_HOSTS=panel.example.org,localhost,127.0.0.1\n" in written
    changed = written.replace("POOLDECK_HTTPS=true\n", "").replace("://panel.", "://other.") + "POOLDECK_RUN_DAYS=30\n"
    path.write_text(changed)
    assert said(tmp_path, "write_settings") == ["changed"]
    assert path.read_text() == changed + "POOLDECK_HTTPS=true\n"


ADDRESSES = """\
# mine
POOLDECK_ALLOWED_HOSTS=panel.example.org, pool.example.org,localhost,127.0.0.1
POOLDECK_TRUSTED_ORIGINS="https://panel.example.org,https://pool.example.org"
POOLDECK_PUBLIC_URL=https://panel.example.org:8443/pools
POOLDECK_WEB_PORT=8000
POOLDECK_RUN_DAYS=30
"""


@as_root
def test_a_repetition_keeps_the_name_and_the_port(tmp_path: Path) -> None:
    path = tmp_path / "etc" / "environment"
    said(tmp_path, "true")
    path.write_text(ADDRESSES.replace("8000", "8001"))
    done = step(tmp_path, 'HOST= PORT=; choose_address; echo "$HOST $PORT"; change_address; echo "${#PUT[@]}"')
    assert done.stdout == "panel.example.org 8001\n0\n"
    path.unlink()
    done = step(tmp_path, 'hostname() { echo here; }; HOST= PORT=; choose_address; echo "$HOST $PORT"; change_address')
    assert done.stdout == "here 8000\n"


@as_root
def test_another_name_or_port_replaces_the_one_before_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "etc" / "environment"
    said(tmp_path, "true")
    path.write_text(ADDRESSES)
    done = step(tmp_path, 'HOST=new.example.org PORT=8001; change_address; echo "${#PUT[@]}"')
    assert done.stdout.splitlines() == [
        "changed  the panel's name: new.example.org, not panel.example.org any longer. Copy the proxy's example again, "
        "and have a certificate for it",
        "changed  the panel's port: 8001, not 8000 any longer. Copy the proxy's example again",
        "4",
    ], done.stderr
    assert (
        path.read_text()
        == """\
# mine
POOLDECK_ALLOWED_HOSTS=new.example.org,pool.example.org,localhost,127.0.0.1
POOLDECK_TRUSTED_ORIGINS=https://new.example.org,https://pool.example.org
POOLDECK_PUBLIC_URL=https://new.example.org:8443/pools
POOLDECK_WEB_PORT=8001
POOLDECK_RUN_DAYS=30
"""
    )
    assert said(tmp_path, "HOST=new.example.org PORT=8001; change_address") == []


@pytest.mark.parametrize(
    ("listed", "replaced"),
    [
        ("old,localhost", "new,localhost"),
        ("localhost,old,new", "localhost,new"),
        ("localhost,older", "localhost,older,new"),
        ("", "new"),
        (".example.org", ".example.org,new"),
    ],
)
def test_a_word_of_a_list_is_replaced_or_added(tmp_path: Path, listed: str, replaced: str) -> None:
    assert step(tmp_path, f"replaced '{listed}' old new").stdout == replaced


@as_root
def test_a_wheel_of_another_release_is_refused_with_the_command_that_upgrades(tmp_path: Path) -> None:
    installed = 'rm -r "$PREFIX/current"; mkdir -p "$PREFIX/releases/0.1.0"; ln -s releases/0.1.0 "$PREFIX/current"; '
    installed += 'touch "$PREFIX/current/.complete"; '
    done = step(tmp_path, f"{installed} WHEEL=/root/pooldeck-0.2.0-py3-none-any.whl; install_release")
    assert done.returncode == 2
    assert "release 0.1.0 is installed, and --wheel /root/pooldeck-0.2.0-py3-none-any.whl is another" in done.stderr
    assert "pooldeckctl upgrade /root/pooldeck-0.2.0-py3-none-any.whl" in done.stderr


SYSTEMCTL = """
systemctl() {
  case $1 in
    is-enabled) [ -e "$STATE.$3" ] ;;
    enable) touch "$STATE.$3" ;;
    disable) rm "$STATE.$3" ;;
  esac
}
"""


def test_backups_are_switched_on_once_and_stay_off_where_the_operator_turned_them_off(tmp_path: Path) -> None:
    timer, target = tmp_path / "state.pooldeck-backup.timer", tmp_path / "state.pooldeck.target"

    def told(words: str = "BACKED_UP=yes") -> str:
        return step(tmp_path, f"{SYSTEMCTL}{words}; start_backups").stdout.split("/")[0]

    assert told("BACKED_UP=") == "ok       backups each night: off (systemctl enable --now pooldeck-backup.timer)\n"
    assert told() == "changed  backups each night, into "
    target.touch()
    assert (told(), timer.exists()) == ("ok       backups each night, into ", True)
    assert (told("BACKED_UP="), timer.exists()) == ("changed  backups each night: off\n", False)
    assert (told().split()[0], timer.exists()) == ("ok", False)


@as_root
def test_what_is_put_is_compared_first(tmp_path: Path) -> None:
    put = f'put {tmp_path}/one 0640 "$(id -un):$(id -gn)" <<< WORD; echo "${{#PUT[@]}}"'
    assert said(tmp_path, put.replace("WORD", "a")) == ["changed", "1"]
    assert said(tmp_path, put.replace("WORD", "a")) == ["ok", "0"]
    assert said(tmp_path, put.replace("WORD", "b")) == ["changed", "1"]
    assert ((tmp_path / "one").read_text(), mode(tmp_path / "one")) == ("b\n", "0640")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["etc", "one", "opt"]


def test_examples_have_the_name_and_the_port(tmp_path: Path) -> None:
    step(tmp_path, 'ACCOUNT=$(id -gn); echo POOLDECK_WEB_PORT=8080 > "$SETTINGS/environment"; write_examples')
    for name in ("nginx.conf", "Caddyfile"):
        text = (tmp_path / "etc" / "examples" / name).read_text()
        assert ("panel.example.org" in text, "127.0.0.1:8080" in text, "POOLDECK_" in text) == (True, True, False)


@pytest.mark.parametrize(
    ("url", "is_ours"),
    [
        ("postgresql://pooldeck_panel:a-b_C9@127.0.0.1:5433/pooldeck", True),
        ("postgresql://pooldeck_panel:a@db.example.org:5432/pooldeck", False),
        ("postgresql://other:a@127.0.0.1:5432/pooldeck", False),
        ("postgresql://pooldeck_panel:a@127.0.0.1:5432/pooldeck?sslmode=require", False),
    ],
)
def test_only_a_database_that_the_installation_made_may_be_made_or_dropped(
    tmp_path: Path, url: str, is_ours: bool
) -> None:
    assert (step(tmp_path, f"is_ours '{url}'").returncode == 0) is is_ours


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("HOST='panel;example'", "--host panel;example is no host name"),
        ("PORT=0", "--port 0 is no port"),
        ("PORT=65536", "--port 65536 is no port"),
        ("PORT=eighty", "--port eighty is no port"),
        ("WHEEL=/nowhere.whl", "there is no wheel /nowhere.whl"),
    ],
)
def test_a_wrong_word_is_named(tmp_path: Path, words: str, told: str) -> None:
    done = step(tmp_path, f"{words}; check_words")
    assert (done.returncode, told in done.stderr) == (2, True), done.stderr


def test_unknown_options_are_refused_and_help_names_all() -> None:
    def run(*words: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(["script/install", *words], cwd=ROOT, capture_output=True, text=True, check=False)

    assert "--hots is no option of script/install" in run("--hots").stderr
    assert "--host needs a value" in run("--host").stderr
    told = run("--help").stdout
    words = ("--host", "--wheel FILE", "--no-backups", "--uninstall [--purge]")
    assert [word for word in words if word not in told] == []


@as_root
def test_others_than_root_are_told_so(tmp_path: Path) -> None:
    for words, told in (
        (["bash", ROOT / "script/install"], "only root can install services"),
        (["sh", DEPLOY / "pooldeckctl", "doctor"], "run it as root, such as sudo pooldeckctl doctor"),
    ):
        program = tmp_path / "program"
        program.write_text(Path(words[1]).read_text().replace('. "$(dirname "$(realpath', f". {ROOT}/script/lib.sh #"))
        argv = account.as_unprivileged([str(words[0]), str(ROOT / "manage.py")], signal.SIGKILL, tmp_path)
        argv[-1:] = [str(words[1]), *map(str, words[2:])]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        assert (done.returncode, told in done.stderr) == (2, True), done.stderr


def test_the_command_reads_settings_as_systemd_does(tmp_path: Path) -> None:
    (tmp_path / "environment").write_text(
        '# a comment\nPOOLDECK_ONE=$HOME `id`\nPOOLDECK_TWO="two words"\n;POOLDECK_THREE=3\nPOOLDECK_FOUR=a=b'
    )
    program = (DEPLOY / "pooldeckctl").read_text().replace("/etc/pooldeck/environment", f"{tmp_path}/environment")
    program = program.replace("/opt/pooldeck/current", str(tmp_path)).replace("/var/lib/pooldeck", str(tmp_path))
    program = program.replace("ACCOUNT=pooldeck", "ACCOUNT=$(id -un)")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "pooldeckctl").write_text('#!/bin/sh\nenv | grep ^POOLDECK_ | sort; echo "$@"\n')
    (tmp_path / "bin" / "pooldeckctl").chmod(0o755)
    done = subprocess.run(
        ["sh", "-c", program, "pooldeckctl", "doctor", "--json"],
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines() == [
        "POOLDECK_FOUR=a=b",
        "POOLDECK_ONE=$HOME `id`",
        "POOLDECK_TWO=two words",
        "doctor --json",
    ]
