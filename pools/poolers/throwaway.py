"""What starting a throwaway pooler takes, whatever the program: where it is found, and as whom it runs."""

import os
from pathlib import Path

SEARCH_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin"


def handed_over(folder: Path, owner: os.stat_result) -> dict[str, object]:
    """Popen's words to run as the owner, to whom the folder and its files are given; none where we are not root."""
    if os.geteuid() != 0:
        return {}
    for path in (folder, *folder.iterdir()):
        os.chown(path, owner.st_uid, owner.st_gid)
    return {"user": owner.st_uid, "group": owner.st_gid, "extra_groups": []}
