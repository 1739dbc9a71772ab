"""POOLDECK_KEY_COMMAND: a command that prints the keys of stored passwords, so that no file has to hold them.

It asks whatever keeps or unwraps them: Vault, systemd-creds, a KMS. What it prints stays in this process's memory, and
is in no environment that programs inherit, in no log and in no error. The command gets no password of the panel's: of
its environment it gets what programs of this kind need to find and identify themselves to what they ask.
"""

import os
import re
import shlex
import signal
import subprocess
from collections.abc import Iterable, Mapping

from cryptography.fernet import Fernet

VARIABLE = "POOLDECK_KEY_COMMAND"
WITHIN_S = 30
SHOWN_CHARACTERS = 200
# what any program may need, and what programs for secrets are configured by
NEVER_SECRET = frozenset(
    {
        "CREDENTIALS_DIRECTORY",
        "HOME",
        "LANG",
        "LC_ALL",
        "LOGNAME",
        "NO_PROXY",
        "PATH",
        "SSL_CERT_DIR",
        "SSL_CERT_FILE",
        "TMPDIR",
        "TZ",
        "USER",
        "XDG_CONFIG_HOME",
        "XDG_RUNTIME_DIR",
        "no_proxy",
    }
)
GENERAL = NEVER_SECRET | {"HTTPS_PROXY", "HTTP_PROXY", "http_proxy", "https_proxy"}
PREFIXES = ("AWS_", "AZURE_", "BAO_", "CLOUDSDK_", "GOOGLE_", "IDENTITY_", "KUBERNETES_", "OP_", "SOPS_", "VAULT_")
NOT_SHOWN = "(not shown)"
LEAST_SECRET_CHARACTERS = 6  # shorter values would hide words of the sentence
_LIKE_A_KEY = re.compile(r"[\w+/-]{40,}=*")


class KeyCommandFailed(ValueError):
    """The command printed no keys; the message never has what it printed."""


def environment(everything: Mapping[str, str], named: Iterable[str] = ()) -> dict[str, str]:
    """Return those variables of a process that the command gets: `GENERAL`, `PREFIXES`, and those `named`."""
    chosen = GENERAL | {*named}
    return {name: value for name, value in everything.items() if name in chosen or name.startswith(PREFIXES)}


def printed_keys(command: str, variables: Mapping[str, str], within_s: float = WITHIN_S) -> list[str]:
    """Run the command, without a shell, and return the Fernet keys on its standard output, the first encrypts.

    `variables` are its environment; see `environment`. The keys are separated by commas or white space. Raises
    `KeyCommandFailed` where the command can't be started, ends with another exit code than 0, takes longer than
    `within_s`, or prints anything but keys.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise KeyCommandFailed(f"the quotes in {VARIABLE} don't match: {error}") from error
    if not words:
        raise KeyCommandFailed(f"{VARIABLE} names no command")
    return _parsed(_output(words, variables, within_s), words[0])


def _output(words: list[str], variables: Mapping[str, str], within_s: float) -> str:
    try:
        process = subprocess.Popen(
            words,
            env=variables,
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
        secrets = {
            *re.split(r"[,\s]+", printed),
            *(value for name, value in variables.items() if name not in NEVER_SECRET),
        }
        message = _last_line(errors, secrets)
        text = f"{words[0]} of {VARIABLE} ended with exit code {process.returncode}: {message}"
        raise KeyCommandFailed(text)
    return printed


def _last_line(errors: str, secrets: Iterable[str]) -> str:
    """Return the last line of what the command wrote to standard error, without `secrets` and what may be a key."""
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    if not lines:
        return "it wrote nothing to standard error"
    message = lines[-1]
    for secret in sorted(secrets, key=len, reverse=True):
        message = message.replace(secret, NOT_SHOWN) if len(secret) >= LEAST_SECRET_CHARACTERS else message
    return _LIKE_A_KEY.sub(NOT_SHOWN, message)[:SHOWN_CHARACTERS]


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
