"""What a start of the panel records before anything writes to a pooler."""

from pathlib import Path

from core.installation import copies
from core.installation.models import Installation
from pools.models import Pooler


def recognize_a_copy(home: Path) -> Installation:
    """Record this start; the installation is paused where it is a copy, or may be one."""
    return copies.recognize(home, Pooler.objects.values_list("config_dir", flat=True))
