"""A copy of the code, and a database for it."""

from pathlib import Path

import pytest
from django.db import connection
from pytest_django import DjangoDbBlocker

from tests.panel.code_copies import CodeCopy

DATABASE = "from django.db import connection; connection.creation.create_test_db(verbosity=0, keepdb=True)\n"


@pytest.fixture
def copy(tmp_path: Path) -> CodeCopy:
    """A copy of the code without its tests."""
    made = CodeCopy(tmp_path)
    made.make()
    return made


@pytest.fixture
def database(copy: CodeCopy, django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> str:
    """What a script does first to have a migrated database: it takes this one, and migrates what its copy adds."""
    home = copy.path / "home"
    home.mkdir()
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        cursor.execute("VACUUM INTO %s", [str(home / "tests.sqlite3")])
    return DATABASE
