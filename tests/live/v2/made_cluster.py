"""The operator's command of the live tests: makes a PostgreSQL that goes on after it, or deletes that again.

`python -m tests.live.v2.made_cluster make|delete FOLDER PORT`, with the panel's request on standard input.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from panel.quickstart.servers import PostgresServer

PASSWORD = "made-secret"
FAST = {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off", "max_connections": "50"}


def make(folder: Path, port: int) -> dict[str, object]:
    server = PostgresServer(folder / "home", port, password=PASSWORD, settings=FAST)
    server.prepare()
    words = server._wrapped_argv()
    del words[words.index("--pdeathsig") : words.index("--pdeathsig") + 2]  # it outlives this program
    with (folder / "log").open("ab") as log:
        server.process = subprocess.Popen(
            words, cwd=server.home, env=server.environment, stdout=log, stderr=log, start_new_session=True
        )
    (folder / "pid").write_text(str(server.process.pid))
    server.wait_until_ready()
    address = {"host": server.host, "port": port, "sslmode": "disable"}
    return address | {"admin_user": server.superuser, "admin_password": PASSWORD, "maintenance_database": "postgres"}


def delete(folder: Path) -> None:
    pid = int((folder / "pid").read_text())
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGINT)
        while Path(f"/proc/{pid}/exe").exists():
            time.sleep(0.05)
    shutil.rmtree(folder / "home", ignore_errors=True)


if __name__ == "__main__":
    verb, folder, port = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    (folder / verb).write_text(json.dumps(json.load(sys.stdin)))
    if verb == "make":
        print(json.dumps(make(folder, port)))
    else:
        delete(folder)
