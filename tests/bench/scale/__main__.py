"""The command: sets the environment, opens the database, and prints the table."""

import argparse
import json
import os
import tempfile
from contextlib import ExitStack
from pathlib import Path

import django

from tests.bench import scale
from tests.bench.scale import servers

HOME = Path(tempfile.gettempdir()) / "pooldeck-scale"


def main() -> None:
    """Measure, and print the table."""
    asked = _asked()
    asked.home.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        _set_environment(asked, stack)
        django.setup()
        from tests.bench.scale import measure, seeding  # Django's models can be imported now

        seeding.fill_once()
        rows = measure.rows(asked.caller, asked.only, asked.repeats)
        before = json.loads(asked.before.read_text()) if asked.before else {}
        found = measure.show(rows, before)
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1) + "\n")


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=scale.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", choices=["sqlite", "postgresql"], default="sqlite")
    parser.add_argument("--home", type=Path, default=HOME, help="where the databases are kept")
    parser.add_argument("--as", dest="caller", choices=["admin", "member"], default="admin")
    parser.add_argument("--only", default="", help="only rows with this word in their name")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--before", type=Path, help="a file of --json to compare with")
    return parser.parse_args()


def _set_environment(asked: argparse.Namespace, stack: ExitStack) -> None:
    home = asked.home.absolute()
    url = f"sqlite:///{home / 'scale.sqlite3'}"
    if asked.database == "postgresql":
        url = stack.enter_context(servers.postgresql(home / "postgresql"))
    redis = stack.enter_context(servers.redis(home / "redis"))
    named = {"DJANGO_SETTINGS_MODULE": "tests.settings", "POOLDECK_HOME": str(home)}
    os.environ.update(named | {"DATABASE_URL": url, "REDIS_URL": redis, "POOLDECK_TEST_WORKER": ""})


if __name__ == "__main__":
    main()
