"""Layouts of PgBouncer's files as packages, roles, images and operators leave them, reduced to what differs.

`@DIR@` is the folder of all files, `@PGHOST@` and `@PGPORT@` are the server's, `@SOCKETS@` is the folder of its socket.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

LISTENING = """listen_addr = 127.0.0.1
listen_port = @PORT@
unix_socket_dir =
pidfile = @DIR@/pgbouncer.pid
admin_users = pooldeck
"""
USERS = '"pooldeck" "console-password"\n"app" "app-password"\n'
LOOKUP = "auth_query = SELECT rolname, rolpassword FROM pg_authid WHERE rolname = $1\n"
PLAIN = "host=@PGHOST@ port=@PGPORT@ dbname=app"
FORCED = f"{PLAIN} user=app password=app-password"
POOL, KEPT = "pool", "kept"


@dataclass(frozen=True)
class Layout:
    """Files by path below the folder, the words that PgBouncer is started with, and what becomes of its entries."""

    name: str
    files: Mapping[str, str | bytes]
    entries: Mapping[str, str]
    main: str = "pgbouncer.ini"
    is_started_inside: bool = False  # with the folder as its working directory, by a relative path
    load: str = "app"  # the entry that pgbench works through
    since: tuple[int, int] = (1, 18)
    folders: tuple[str, ...] = field(default=())

    def __str__(self) -> str:
        return self.name


def main(databases: str, settings: str = "", *, before: str = "", after: str = "") -> str:
    """Write a main file with these entries and further settings."""
    return f"{before}[databases]\n{databases}\n[pgbouncer]\n{LISTENING}{settings}{after}"


SCRAM = "auth_type = scram-sha-256\nauth_file = @DIR@/userlist.txt\n"

DEBIAN = (
    """;;;
;;; PgBouncer configuration file
;;;

;; database name = connect string
;;
;; connect string params:
;;   dbname= host= port= user= password= auth_user=
[databases]

;; foodb over Unix socket
;foodb =

;; redirect bardb to bazdb on localhost
;bardb = host=localhost dbname=bazdb
app = host=@PGHOST@ port=@PGPORT@

;; User-specific configuration
[users]

;user1 = pool_size=5 reserve_pool_size=2 pool_mode=transaction max_user_connections=50

;; Configuration section
[pgbouncer]

;;;
;;; Administrative settings
;;;
"""
    + LISTENING
    + SCRAM
    + """
;; Read additional config from other file
;%include /etc/pgbouncer/pgbouncer-other.ini
"""
)

LAYOUTS = [
    Layout("debian", {"pgbouncer.ini": DEBIAN, "userlist.txt": USERS}, {"app": POOL}),
    Layout(
        "pigsty",
        {
            "pgbouncer.ini": "[databases]\n%include @DIR@/database.txt\n\n[users]\n%include @DIR@/useropts.txt\n\n"
            f"[pgbouncer]\n{LISTENING}auth_type = hba\nauth_file = @DIR@/userlist.txt\n"
            "auth_hba_file = @DIR@/pgb_hba.conf\npool_mode = transaction\nmax_client_conn = 20000\n",
            "database.txt": "app                         = host=@SOCKETS@ port=@PGPORT@ pool_mode=session\n",
            "useropts.txt": "app                         = pool_mode=session max_user_connections=16\n",
            "pgb_hba.conf": "host all all 127.0.0.1/32 scram-sha-256\n",
            "userlist.txt": USERS,
        },
        {"app": POOL},
    ),
    Layout(
        "autobase",
        {
            "pgbouncer.ini": main(
                "app = host=@PGHOST@ port=@PGPORT@ dbname=app \n\n* = host=@PGHOST@ port=@PGPORT@\n",
                SCRAM + "ignore_startup_parameters = extra_float_digits,geqo,search_path\n"
                "pool_mode = session\nserver_reset_query = DISCARD ALL\ndefault_pool_size = 20\n",
            ),
            "userlist.txt": USERS,
        },
        {"app": POOL, "*": KEPT},
    ),
    Layout(
        "cloudnativepg",
        {
            "configs/pgbouncer.ini": f"[pgbouncer]\npool_mode = session\nauth_user = pooldeck\n{LOOKUP}"
            f"{LISTENING}auth_type = hba\nauth_hba_file = @DIR@/configs/pg_hba.conf\n"
            "auth_file = @DIR@/secrets/userlist.txt\nignore_startup_parameters = extra_float_digits,options\n\n"
            "[databases]\n* = host=@PGHOST@ port=@PGPORT@\n",
            "configs/pg_hba.conf": "host all all 0.0.0.0/0 scram-sha-256\n",
            "secrets/userlist.txt": USERS,
        },
        {"*": KEPT},
        main="configs/pgbouncer.ini",
    ),
    Layout(
        "zalando",
        {
            "pgbouncer.ini": "# vim: set ft=dosini:\n\n[databases]\n"
            "* = host=@PGHOST@ port=@PGPORT@ auth_user=pooldeck\n"
            "postgres = host=@PGHOST@ port=@PGPORT@ auth_user=pooldeck\n\n"
            f"[pgbouncer]\npool_mode = transaction\n{LISTENING}auth_type = scram-sha-256\n"
            f"auth_file = @DIR@/auth_file.txt\n{LOOKUP}max_db_connections = 60\n",
            "auth_file.txt": USERS,
        },
        {"*": KEPT, "postgres": KEPT},
    ),
    Layout(
        "bitnami",
        {
            "conf/pgbouncer.ini": "[databases]\napp=host=@PGHOST@ port=@PGPORT@ dbname=app\n\n"
            f"[pgbouncer]\n{LISTENING}auth_type=scram-sha-256\nauth_file=@DIR@/conf/userlist.txt\n",
            "conf/userlist.txt": USERS,
        },
        {"app": POOL},
        main="conf/pgbouncer.ini",
    ),
    Layout(
        "edoburu",
        {
            "pgbouncer.ini": "################## Auto generated ##################\n[databases]\n"
            "app = host=@PGHOST@ port=@PGPORT@ auth_user=pooldeck\n\n"
            f"[pgbouncer]\n{LISTENING}{SCRAM}{LOOKUP}\n################## end file ##################\n",
            "userlist.txt": USERS,
        },
        {"app": KEPT},
    ),
    Layout(
        "gitlab",
        {
            "pgbouncer.ini": f"%include @DIR@/databases.ini\n\n[pgbouncer]\n{LISTENING}"
            f"auth_type = scram-sha-256\nauth_file = @DIR@/pg_auth\n{LOOKUP}",
            "databases.ini": f"[databases]\n\napp = {FORCED}\nlooked_up = {PLAIN} auth_user=pooldeck\n",
            "pg_auth": USERS,
        },
        {"app": POOL, "looked_up": KEPT},
    ),
    Layout(
        "entry-in-an-included-file",
        {
            "pgbouncer.ini": main("%include @DIR@/databases.ini\n", SCRAM),
            "databases.ini": f"; written by the provisioning job\napp = {FORCED} pool_size=4\n",
            "userlist.txt": USERS,
        },
        {"app": POOL},
    ),
    Layout(
        "relative-paths",
        {
            "pgbouncer.ini": main("%include conf.d/databases.ini\n", "auth_type = md5\nauth_file = userlist.txt\n"),
            "conf.d/databases.ini": f"app = {FORCED}\n",
            "userlist.txt": USERS,
        },
        {"app": POOL},
        is_started_inside=True,
    ),
    Layout(
        "wildcard",
        {
            "pgbouncer.ini": main(
                "* = host=@PGHOST@ port=@PGPORT@ auth_user=pooldeck",
                f"{SCRAM}{LOOKUP}min_pool_size = 1\ndefault_pool_size = 7\nquery_wait_timeout = 33\n",
            ),
            "userlist.txt": USERS,
        },
        {"*": KEPT},
    ),
    Layout(
        "crlf",
        {
            "pgbouncer.ini": main(f"app = {FORCED}", SCRAM).replace("\n", "\r\n").encode(),
            "userlist.txt": USERS.replace("\n", "\r\n").encode(),
        },
        {"app": POOL},
    ),
    Layout(
        "section-twice",
        {
            "pgbouncer.ini": f"[databases]\napp = {FORCED}\n\n[pgbouncer]\n%include @DIR@/custom.ini\n"
            f"[pgbouncer]\n{LISTENING}{SCRAM}max_client_conn = 321\n\n[databases]\nreports = {PLAIN}\n",
            "custom.ini": "max_client_conn = 123\n",
            "userlist.txt": USERS,
        },
        {"app": POOL, "reports": POOL},
    ),
    Layout(
        "main-file-of-another-name",
        {"shop.cfg": main(f"app = {FORCED}", SCRAM), "userlist.txt": USERS},
        {"app": POOL},
        main="shop.cfg",
    ),
    Layout(
        "auth-file-in-another-folder",
        {
            "etc/pgbouncer.ini": main(f"app = {PLAIN}", SCRAM.replace("@DIR@/userlist.txt", "@DIR@/secret/people")),
            "secret/people": USERS,
        },
        {"app": POOL},
        main="etc/pgbouncer.ini",
    ),
    Layout(
        "no-auth-file",
        {"pgbouncer.ini": main(f"app = {FORCED}", "auth_type = any\n")},
        {"app": POOL},
    ),
    Layout(
        "includes-within-includes",
        {
            "etc/pgbouncer.ini": f"%include @DIR@/etc/first.ini\n[pgbouncer]\n{LISTENING}{SCRAM}",
            "etc/first.ini": "[databases]\n%include @DIR@/other/second.ini\n",
            "other/second.ini": f"reports = {PLAIN} pool_mode=statement\n%include @DIR@/third/third.ini\n",
            "third/third.ini": f"app = {FORCED}\n",
            "userlist.txt": USERS,
        },
        {"reports": POOL, "app": POOL},
        main="etc/pgbouncer.ini",
    ),
    Layout(
        "an-entry-twice",
        {
            "pgbouncer.ini": main(f"app = {FORCED} pool_size=2\napp = {FORCED} pool_size=6", SCRAM),
            "userlist.txt": USERS,
        },
        {"app": POOL},
    ),
    Layout(
        "socket-of-the-server",
        {
            "pgbouncer.ini": main("app = host=@SOCKETS@ port=@PGPORT@ user=app password=app-password", SCRAM),
            "userlist.txt": USERS,
        },
        {"app": POOL},
    ),
    Layout(
        "localhost",
        {"pgbouncer.ini": main("app = host=localhost port=@PGPORT@", SCRAM), "userlist.txt": USERS},
        {"app": POOL},
    ),
    Layout(
        "no-line-break-at-the-end",
        {
            "pgbouncer.ini": f"[pgbouncer]\n{LISTENING}{SCRAM}[databases]\napp = {FORCED}",
            "userlist.txt": USERS.rstrip("\n"),
        },
        {"app": POOL},
    ),
    Layout(
        "password-in-the-auth-file-alone",
        {"pgbouncer.ini": main(f"app = {PLAIN} user=app", SCRAM), "userlist.txt": USERS},
        {"app": POOL},
    ),
    Layout(
        "settings-of-entries",
        {
            "pgbouncer.ini": main(
                f"app = {FORCED}  pool_mode = session min_pool_size=1 reserve_pool=2 max_db_connections=9 "
                "connect_query='SELECT ''it''' client_encoding=UTF8",
                SCRAM,
            ),
            "userlist.txt": USERS,
        },
        {"app": POOL},
    ),
    Layout(
        "limits-of-users",
        {
            "pgbouncer.ini": main(f"app = {FORCED}", SCRAM, after="\n[users]\napp = pool_mode=session\n"),
            "userlist.txt": USERS,
        },
        {"app": POOL},
    ),
    Layout(
        "rules-by-file",
        {
            "pgbouncer.ini": main(
                f"app = {PLAIN}",
                "auth_type = hba\nauth_hba_file = @DIR@/hba.conf\nauth_file = @DIR@/userlist.txt\n",
            ),
            "hba.conf": "# who\nhost app,pgbouncer all 127.0.0.1/32 scram-sha-256\nhost all all all reject\n",
            "userlist.txt": USERS,
        },
        {"app": POOL},
    ),
    Layout(
        "several-hosts-and-an-unknown-server",
        {
            "pgbouncer.ini": main(
                f"app = {FORCED}\nmany = host=@PGHOST@,@PGHOST@ port=@PGPORT@ dbname=app\n"
                "elsewhere = host=127.0.0.1 port=1 dbname=app",
                SCRAM,
            ),
            "userlist.txt": USERS,
        },
        {"app": POOL, "many": KEPT, "elsewhere": KEPT},
    ),
]
