"""What a start of the panel checks and records before anything writes to a pooler."""

import sys
from pathlib import Path

from core.installation import copies, known_keys
from core.installation.models import Installation
from pools.models import Pooler


def recognize_a_copy(home: Path) -> Installation:
    """Record this start; the installation is paused where it is a copy, or may be one."""
    return copies.recognize(home, Pooler.objects.values_list("config_dir", flat=True))


def end_without_a_needed_key() -> None:
    """End this process where stored secrets need a key that was removed: pages and tasks would fail one by one."""
    try:
        known_keys.check_at_start()
    except known_keys.KeyMissing as error:
        sys.exit(str(error))
