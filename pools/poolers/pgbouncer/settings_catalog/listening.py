"""Where it listens and what it runs as."""

from pools.poolers.pgbouncer.settings_catalog.shapes import number, of_group, switch, text

ADDRESS = r"[0-9A-Za-z_.:%*-]+"

SETTINGS = of_group(
    "Listening",
    text(
        "listen_addr",
        "Addresses",
        "",
        "Names or addresses with commas between, * for all; the panel must still reach it at its own",
        pattern=rf"{ADDRESS}( *, *{ADDRESS})*",
        restart=True,
    ),
    number("listen_backlog", "Queue of new connections", "128", "Unanswered ones beyond it are dropped", restart=True),
    text(
        "unix_socket_dir",
        "Folder of its socket",
        "/tmp",  # noqa: S108  # what the program has, not a file of ours
        "An absolute path on its host, or @name for an abstract socket; empty on purpose: it has none",
        pattern=r"[/@].+",
        restart=True,
        may_be_empty=True,
    ),
    text(
        "unix_socket_mode",
        "Rights of its socket",
        "0777",
        "Four octal digits, such as 0770",
        pattern=r"0[0-7]{3}",
        restart=True,
        octal=True,
    ),
    text(
        "unix_socket_group", "Group of its socket", "", "Which group owns it", pattern=r"[A-Za-z0-9_.-]+", restart=True
    ),
    switch("so_reuseport", "Share the port", "0", "So that several processes use more than one core", restart=True),
    text("job_name", "Name of the service", "pgbouncer", "Of the process", pattern=r"[A-Za-z0-9_.@-]+", restart=True),
    number("listen_port", "Port", "6432", "", restart=True, fixed="clients and the panel know it by this port"),
    text("user", "System user", "", "", restart=True, fixed="it belongs to the installation, which starts it"),
    text("pidfile", "PID file", "", "", restart=True, fixed="it belongs to the installation, which looks there"),
    text("conffile", "Main file", "", "", fixed="it is the file that the program was started on"),
)
