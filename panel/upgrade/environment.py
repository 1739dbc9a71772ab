"""The environment file of an installation, as systemd reads it (EnvironmentFile= of systemd.exec(5))."""

import shlex
from pathlib import Path

from panel.upgrade.errors import UpgradeRefused

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def read(path: Path) -> dict[str, str]:
    """Return the variables of a file, one `NAME=VALUE` a line. Raises `UpgradeRefused` for a line that is none."""
    found: dict[str, str] = {}
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        text = line.strip()
        if not text or text[0] in "#;":
            continue
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier():
            raise UpgradeRefused(f"{path}, line {number} is not NAME=VALUE: correct it")
        found[name] = _unquoted(value)
    return found


def _unquoted(value: str) -> str:
    if value[:1] in ("'", '"') and value[-1:] == value[:1]:
        words = shlex.split(value)
        return words[0] if words else ""
    return value.strip()
