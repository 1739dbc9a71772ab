"""Files that only their owner may read."""

import os
from pathlib import Path

CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW


def replace(path: Path, text: str, owner: tuple[int, int] | None = None) -> None:
    """Put a 0600 file in place whole, for `owner` (uid, gid) where it is to be another's."""
    fresh = path.with_name(path.name + ".new")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, CREATE, 0o600), "w") as file:
        file.write(text)
        if owner:
            os.fchown(file.fileno(), *owner)
    fresh.replace(path)
