"""POOLDECK_KEY_COMMAND: a command that prints the keys of stored passwords, so that no file has to hold them.

It asks whatever keeps or unwraps them: Vault, systemd-creds, a KMS. What it prints stays in this process's memory, and
is in no environment that programs inherit, in no log and in no error.
"""

import os
import re
import shlex
import signal
import subprocess

from cryptography.fernet import Fernet

VARIABLE = "POOLDECK_KEY_COMMAND"
WITHIN_S = 30
SHOWN_CHARACTERS = 200
_LIKE_A_KEY = re.compile(r"[\w+/-]{40,}=*")


class KeyCommandFailed(ValueError):
    """The command printed no keys; the message never has what it printed."""


def printed_keys(command: str, within_s: float = WITHIN_S) -> list[str]:
    """Run the command, without a shell, and return the Fernet keys on its standard output, the first encrypts.

    They are separated by commas or white space. Raises `KeyCommandFailed` where the command can't be started, ends with
    another exit code than 0, takes longer than `within_s`, or prints anything but keys.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise KeyCommandFailed(f"the quotes in {VARIABLE} don't match: {error}") from error
    return _parsed(_output(words, within_s), words[0])


def _output(words: list[str], within_s: float) -> str:
    try:
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        raise KeyCommandFailed(f"{words[0]} of {VARIABLE} can't be started: {error.strerror}") from error
    with process:
        try:
            printed, errors = process.communicate(timeout=within_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # a shell's own children keep its pipes open
            text = f"{words[0]} of {VARIABLE} printed no keys within {within_s:g} s: does what it asks answer?"
            raise KeyCommandFailed(text) from None
    if process.returncode:
        text = f"{words[0]} of {VARIABLE} ended with exit code {process.returncode}: {_last_line(errors)}"
        raise KeyCommandFailed(text)
    return printed


def _last_line(errors: str) -> str:
    """Return the last line of what the command wrote to standard error, without anything that may be a key."""
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    return (
        _LIKE_A_KEY.sub("(not shown)", lines[-1])[:SHOWN_CHARACTERS] if lines else "it wrote nothing to standard error"
    )


def _parsed(printed: str, program: str) -> list[str]:
    keys = [key for key in re.split(r"[,\s]+", printed) if key]
    if not keys:
        raise KeyCommandFailed(f"{program} of {VARIABLE} printed nothing: it must print the keys")
    for number, key in enumerate(keys, start=1):
        try:
            Fernet(key)
        except ValueError:
            text = f"word {number} of {len(keys)} that {program} of {VARIABLE} printed is not a Fernet key"
            raise KeyCommandFailed(text) from None
    return keys
