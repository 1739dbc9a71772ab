"""Each test of the trail begins with an empty one."""

import pytest

from core.audit.models import Entry


@pytest.fixture(autouse=True)
def empty_trail(transactional_db: None) -> None:
    """Remove what making the first team of an installation recorded."""
    Entry.objects.all().delete()
