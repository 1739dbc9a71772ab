"""Files that only their owner can read."""

import os
from pathlib import Path

CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW


def replace(path: Path, text: str, owner: tuple[int, int] | None = None) -> None:
    """Write a file with mode 0600 and rename it into place; `owner` (uid, gid) makes it another user's."""
    fresh = path.with_name(path.name + ".new")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, CREATE, 0o600), "w") as file:
        file.write(text)
        if owner:
            os.fchown(file.fileno(), *owner)
    fresh.replace(path)
