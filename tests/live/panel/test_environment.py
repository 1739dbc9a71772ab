"""A panel that was started with libpq's variables set, as a shell of a database's keeper has them."""

import os
import subprocess
import sys

from panel.quickstart.servers import PostgresServer

BENT = {
    "PGSERVICE": "elsewhere",
    "PGHOSTADDR": "127.0.0.9",
    "PGOPTIONS": "-c default_transaction_read_only=on",
    "PGSSLCERT": "/nowhere/client.crt",
    "PGSSLMINPROTOCOLVERSION": "TLSv9",
    "PGREQUIREAUTH": "none",
    "PGCLIENTENCODING": "LATIN1",
    "PGTZ": "Asia/Tokyo",
}
LOGIN = """
import sys
import django
django.setup()
from pools.clusters.endpoints import Endpoint
from pools.clusters.connect import connect_endpoint
host, port, user = sys.argv[1:]
endpoint = Endpoint(host, int(port), "postgres", user, sys.stdin.read(), "disable", None)
with connect_endpoint(endpoint) as session:
    asked = "SELECT current_user, current_setting('default_transaction_read_only'), current_setting('client_encoding')"
    print(*session.execute(asked).fetchone())
"""


def test_the_variables_of_libpq_bend_no_login(postgres: PostgresServer) -> None:
    reported = subprocess.run(
        [sys.executable, "-c", LOGIN, postgres.host, str(postgres.port), postgres.superuser],
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "panel.settings", **BENT},
        input=postgres.password,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (reported.stdout, reported.stderr) == (f"{postgres.superuser} off UTF8\n", "")
