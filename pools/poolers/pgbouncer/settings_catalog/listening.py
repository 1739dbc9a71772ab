"""Where it listens and what it runs as."""

from django.utils.translation import gettext_lazy as _

from pools.poolers.pgbouncer.settings_catalog.shapes import number, of_group, switch, text

ADDRESS = r"[0-9A-Za-z_.:%*-]+"

SETTINGS = of_group(
    _("Listening"),
    text(
        "listen_addr",
        "",
        _(
            "PgBouncer accepts TCP connections at these names or addresses, separated by commas, or at all with * "
            "(none by default); the panel's own address of it must stay among them."
        ),
        pattern=rf"{ADDRESS}( *, *{ADDRESS})*",
        restart=True,
    ),
    number(
        "listen_backlog",
        "128",
        _(
            "The kernel queues this many connections that PgBouncer has not accepted yet, and drops further ones "
            "(default {default})."
        ),
        restart=True,
    ),
    text(
        "unix_socket_dir",
        "/tmp",  # noqa: S108 (the program has it, it is not a file of ours)
        _(
            "PgBouncer places its Unix socket in this folder, an absolute path on its host, or @name for an abstract "
            "socket (default {default}); an empty text means no socket."
        ),
        pattern=r"[/@].+",
        restart=True,
        may_be_empty=True,
    ),
    text(
        "unix_socket_mode",
        "0777",
        _("PgBouncer gives its Unix socket this file mode, four octal digits such as 0770 (default {default})."),
        pattern=r"0[0-7]{3}",
        restart=True,
        octal=True,
    ),
    text(
        "unix_socket_group",
        "",
        _("PgBouncer gives its Unix socket to this group; an empty field means the group of its own user."),
        pattern=r"[A-Za-z0-9_.-]+",
        restart=True,
    ),
    switch(
        "so_reuseport",
        "0",
        _("PgBouncer shares its port with other processes, so that they use more than one core (default {default})."),
        restart=True,
    ),
    text(
        "job_name",
        "pgbouncer",
        _("PgBouncer registers itself as a Windows service of this name (default {default}); elsewhere it has no use."),
        pattern=r"[A-Za-z0-9_.@-]+",
        restart=True,
    ),
    number(
        "listen_port",
        "6432",
        _("PgBouncer listens on this port, which its Unix socket has in its name too (default {default})."),
        restart=True,
        fixed=_("Read-only: clients and the panel know it by this port."),
    ),
    text(
        "user",
        "",
        _("PgBouncer changes to this system user after its start as root (not set by default)."),
        restart=True,
        fixed=_("Read-only: it belongs to the installation, which starts it."),
    ),
    text(
        "pidfile",
        "",
        _("PgBouncer writes its process ID to this file (not set by default)."),
        restart=True,
        fixed=_("Read-only: it belongs to the installation, which reads it."),
    ),
    text(
        "conffile",
        "",
        _("PgBouncer reads its configuration from this file at its start and at each reload."),
        fixed=_("Read-only: it is the file that the program was started on."),
    ),
)
