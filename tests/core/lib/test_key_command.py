"""POOLDECK_KEY_COMMAND: keys from a command, with errors that never have what it printed."""

import os
import shlex
import subprocess
import sys
import time
from base64 import b64encode

import pytest
from django.core.exceptions import ImproperlyConfigured

from core.lib import env, key_command
from core.lib.key_command import KeyCommandFailed

FIRST, SECOND = (b64encode(bytes([number]) * 32).decode() for number in (1, 2))


def shell(script: str) -> str:
    return f"sh -c {shlex.quote(script)}"


@pytest.mark.parametrize("between", [",", "\n", " ,\n"])
def test_the_command_prints_the_keys_in_their_order(between: str) -> None:
    assert key_command.printed_keys(shell(f"printf '%s' '{FIRST}{between}{SECOND}'"), os.environ) == [FIRST, SECOND]


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("/nonexistent/vault kv get", "/nonexistent/vault of POOLDECK_KEY_COMMAND can't be started: No such file"),
        ("sh -c 'echo", "the quotes in POOLDECK_KEY_COMMAND don't match: No closing quotation"),
        (shell("echo permission denied >&2; exit 2"), "sh of POOLDECK_KEY_COMMAND ended with exit code 2: permission"),
        (shell("exit 1"), "ended with exit code 1: it wrote nothing"),
        ("true", "true of POOLDECK_KEY_COMMAND printed nothing"),
        (shell(f"echo {FIRST} not-a-key"), "word 2 of 2 that sh of POOLDECK_KEY_COMMAND printed is not a Fernet key"),
        (shell(f"echo {FIRST}; echo key {SECOND} is wrong >&2; exit 1"), "exit code 1: key (not shown) is wrong"),
    ],
)
def test_a_failure_says_why_and_never_what_was_printed(command: str, said: str) -> None:
    with pytest.raises(KeyCommandFailed) as error:
        key_command.printed_keys(command, os.environ)
    assert said in str(error.value)
    assert not any(secret in str(error.value) for secret in (FIRST, SECOND, "not-a-key"))


def test_the_command_gets_a_small_environment_and_what_the_operator_names(monkeypatch, tmp_path) -> None:
    given = {
        "DATABASE_URL": "postgresql://panel:of-database@h/p",
        "POOLDECK_EMAIL_PASSWORD": "of-mail",
        "POOLDECK_KEY_COMMAND_ENV": "HSM_SLOT",
        "HSM_SLOT": "7",
        "HSM_PIN": "not-named",
        "VAULT_ADDR": "https://vault",
        "AWS_PROFILE": "pooldeck",
        "LANG": "C.UTF-8",
    }
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("POOLDECK_KEYS")
    seen = tmp_path / "seen"
    monkeypatch.setenv("POOLDECK_KEY_COMMAND", shell(f"env > {seen}; echo {FIRST}"))
    assert env.encryption_keys() == [FIRST]
    found = dict(line.split("=", 1) for line in seen.read_text().splitlines() if "=" in line)
    assert {name: found.get(name) for name in given} == {
        "DATABASE_URL": None,
        "POOLDECK_EMAIL_PASSWORD": None,
        "POOLDECK_KEY_COMMAND_ENV": None,
        "HSM_SLOT": "7",
        "HSM_PIN": None,
        "VAULT_ADDR": "https://vault",
        "AWS_PROFILE": "pooldeck",
        "LANG": "C.UTF-8",
    }
    assert found["PATH"] == os.environ["PATH"]
    assert not [name for name in found if name.startswith(("POOLDECK_", "DJANGO_", "PYTEST"))]


def test_an_error_shows_neither_the_variables_of_the_command_nor_pieces_that_it_printed() -> None:
    script = "echo piece-of-key; echo token $VAULT_TOKEN may not read piece-of-key >&2; exit 1"
    with pytest.raises(KeyCommandFailed) as error:
        key_command.printed_keys(shell(script), os.environ | {"VAULT_TOKEN": "hvs.short1"})
    assert str(error.value).endswith("ended with exit code 1: token (not shown) may not read (not shown)")


def test_blanks_name_no_command() -> None:
    with pytest.raises(KeyCommandFailed, match="POOLDECK_KEY_COMMAND names no command"):
        key_command.printed_keys("  ", {})


def test_a_command_that_hangs_is_ended_with_its_children() -> None:
    began = time.monotonic()
    with pytest.raises(KeyCommandFailed, match=r"printed no keys within 0\.5 s"):
        key_command.printed_keys(shell("sleep 60 | cat"), os.environ, within_s=0.5)
    assert time.monotonic() - began < 10


def started(tmp_path, statement: str, **given: str) -> subprocess.CompletedProcess[str]:
    environment = {"DJANGO_SETTINGS_MODULE": "panel.settings", "POOLDECK_HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    words = [sys.executable, "-c", statement]
    return subprocess.run(words, env=environment | given, capture_output=True, text=True, check=False)


def test_a_process_starts_with_the_keys_of_the_command_and_hands_them_to_no_other(tmp_path) -> None:
    statement = (
        "import os; from django.conf import settings; keys = settings.POOLDECK_KEYS; "
        "print(len(keys), any(key in ' '.join(os.environ.values()) for key in keys))"
    )
    (tmp_path / "kept").write_text(f"{FIRST},{SECOND}")
    done = started(tmp_path, statement, POOLDECK_KEY_COMMAND=f"cat {tmp_path / 'kept'}")
    assert (done.stdout.strip(), done.stderr) == ("2 False", "")


def test_two_sources_of_keys_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POOLDECK_KEYS", FIRST)
    monkeypatch.setenv("POOLDECK_KEY_COMMAND", "true")
    with pytest.raises(ImproperlyConfigured, match="both set: unset one of them"):
        env.encryption_keys()


def test_the_command_takes_the_place_of_the_file(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    (tmp_path / "keys").write_text(FIRST)
    monkeypatch.setenv("POOLDECK_SECRETS_FOLDER", str(tmp_path))
    monkeypatch.delenv("POOLDECK_KEYS")
    assert env.encryption_keys() == [FIRST]
    monkeypatch.setenv("POOLDECK_KEY_COMMAND", f"echo {SECOND}")
    assert env.encryption_keys() == [SECOND]
