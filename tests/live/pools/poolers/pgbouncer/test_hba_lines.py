"""Which lines of an HBA file PgBouncer passes over, by its own log: exactly those that the panel refuses."""

import re
import time
from pathlib import Path

from pools.poolers.pgbouncer import hba, hba_lists

LINES = [
    "local all all peer",
    "local all all trust",
    "local all all scram-sha-256",
    "host all all 0.0.0.0/0 scram-sha-256",
    'host shop, "odd ""name" app,reader 10.0.0.0 255.0.0.0 md5 # the office',
    "hostssl sameuser all ::1/128 cert",
    "hostnossl all all 127.0.0.1/32 reject",
    "host all all ::1 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff md5",
    "host all all fe80:: ffff:ffff:: md5",
    "host all all :: :: reject",
    "host all all ::1 255.255.255.255 md5",
    "host all all 10.0.0.0 ffff:: md5",
    "hostssl all all 0.0.0.0/0 cert",
    "host all @ops.txt 127.0.0.1/32 md5",
    "host all all samenet md5",
    "host all all 127.0.0.1/32 password",
    "host all all all scram-sha-256",
    "host replication all 10.0.0.0/8 md5",
    "local all all peer map=staff",
    "hostall all all 10.0.0.0/8 md5",
    "host all all 10.0.0.0/8",
    "local all all",
    "host all +staff 10.0.0.0/8 md5",
    "host samerole all 10.0.0.0/8 md5",
    "host all all 10.0.0.0/33 md5",
    "host all all db.local md5",
    "host all all 10.0.0.0/8 ident",
    "host all all 10.0.0.0/8 pam",
    "host all all 10.0.0.0/8 md5 extra",
    'host "all all 10.0.0.0/8 md5',
    "host all all 10.0.0.0/8 ldap ldapurl=x",
]
PASSED_OVER = re.compile(r"could not parse hba config line (\d+)")


LISTS = {
    "names": "anna\nbert # on call\n",
    "quoted": '"anna"\n"b, c"',
    "commas": "anna, bert,carl\n",
    "more": "anna bert\n",
    "all": "all\n",
    "blank": "anna\n\nbert\n",
    "comment": "# nobody\nanna\n",
    "group": "anna\n+staff\n",
    "open": "anna,\n",
    "same": "samerole\n",
    "nested": "carl\n@names\n",
    "broken": "carl\n@blank\n",
}


def passed_over(pgbouncer, version, lines=LINES):
    """The numbers of the lines of which the log says so, after a reload with the method hba."""
    log = pgbouncer.home / "hba.log"
    rules = pgbouncer.config_dir / "hba.conf"
    # the last line lets the console's own login in, whatever stands above
    rules.write_text("\n".join([*lines, "host all all 127.0.0.1/32 scram-sha-256", ""]))
    ini = pgbouncer.config_dir / "pgbouncer.ini"
    ini.write_text(ini.read_text().replace("auth_type = scram-sha-256", f"auth_type = hba\nauth_hba_file = {rules}"))
    extra = f"logfile = {log}\n"
    if version >= hba.MAPS_SINCE:
        maps = pgbouncer.config_dir / "ident.conf"
        maps.write_text("staff root postgres\n")
        extra += f"auth_ident_file = {maps}\n"
    ini.write_text(ini.read_text() + extra)
    with pgbouncer.connect() as console:
        console.execute(b"RELOAD")  # begins the log
        console.execute(b"RELOAD")
    deadline = time.monotonic() + 60
    while "could not parse" not in (log.read_text() if log.exists() else ""):
        assert time.monotonic() < deadline, "the log says nothing of the lines"
        time.sleep(0.05)
    return {int(number) for number in PASSED_OVER.findall(log.read_text())}


def test_the_panel_refuses_every_line_that_pgbouncer_passes_over(pgbouncer, version):
    refused = {number for number, _ in hba.faults_by_line("\n".join(LINES), version)}
    assert {LINES[number - 1] for number in passed_over(pgbouncer, version)} == {
        LINES[number - 1] for number in refused
    }


def test_a_list_of_names_is_read_or_passed_over_as_pgbouncer_does(pgbouncer, version):
    for name, text in LISTS.items():
        (pgbouncer.config_dir / name).write_text(text)
        (pgbouncer.config_dir / name).chmod(0o644)
    lines = [f"host all @{name} 127.0.0.1/32 md5" for name in LISTS]
    numbers = passed_over(pgbouncer, version, lines)

    def read(path):
        return Path(path).read_text()

    written = hba_lists.written_out("\n".join(lines), str(pgbouncer.config_dir / "hba.conf"), read).split("\n")
    assert {lines[number - 1] for number in numbers} == {
        line for line, one in zip(lines, written, strict=True) if one.startswith(hba_lists.SKIPPED)
    }
