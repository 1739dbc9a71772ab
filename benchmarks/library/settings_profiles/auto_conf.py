"""`python -m benchmarks.library.settings_profiles.auto_conf FOLDER COMMAND…`: puts settings back and starts the server.

For the table `undo` of POOLDECK_RESTART_FILE. Standard input holds a JSON object: name → the value that
postgresql.auto.conf in the data folder is to hold (null: none). Then the command takes this process's place. It needs
neither Django nor the panel's settings, so that the server's own account can run it.
"""

import json
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

_NAME = re.compile(r"^\s*([A-Za-z_][\w.$]*)\s*=?")


def with_values(text: str, values: Mapping[str, str | None]) -> str:
    """Return the file's text with these values in place of its own, as ALTER SYSTEM writes them."""
    kept = [line for line in text.splitlines() if not ((found := _NAME.match(line)) and found[1].lower() in values)]
    lines = [f"{name} = {_quoted(value)}" for name, value in values.items() if value is not None]
    return "".join(f"{line}\n" for line in [*kept, *lines])


def _quoted(value: str) -> str:
    """Return the value as the server writes it into the file: guc-file.l doubles quotes and reads backslashes."""
    return "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"


def restore(folder: Path, values: Mapping[str, str | None]) -> None:
    """Replace the file in the data folder at once; its owner and its mode stay."""
    path = folder / "postgresql.auto.conf"
    found = path.stat()
    fresh = folder / "postgresql.auto.conf.pooldeck"
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, found.st_mode & 0o777), "w") as file:
        file.write(with_values(path.read_text(), values))
        file.flush()
        os.fsync(file.fileno())
    if os.geteuid() == 0:
        os.chown(fresh, found.st_uid, found.st_gid)
    fresh.rename(path)


def main(words: list[str]) -> None:
    """Put back what standard input holds; then run the command."""
    folder, *command = words
    restore(Path(folder), json.loads(sys.stdin.read()))
    os.execvp(command[0], command)  # noqa: S606 (the operator's words, from their own file)


if __name__ == "__main__":
    main(sys.argv[1:])
