"""Where it listens and what it runs as."""

from django.utils.translation import gettext_lazy as _

from pools.poolers.pgbouncer.settings_catalog.shapes import number, of_group, switch, text

ADDRESS = r"[0-9A-Za-z_.:%*-]+"

SETTINGS = of_group(
    _("Listening"),
    text(
        "listen_addr",
        _("Addresses"),
        "",
        _("Names or addresses with commas between, * for all; the panel must still reach it at its own"),
        pattern=rf"{ADDRESS}( *, *{ADDRESS})*",
        restart=True,
    ),
    number(
        "listen_backlog", _("Queue of new connections"), "128", _("Unanswered ones beyond it are dropped"), restart=True
    ),
    text(
        "unix_socket_dir",
        _("Folder of its socket"),
        "/tmp",  # noqa: S108  # what the program has, not a file of ours
        _("An absolute path on its host, or @name for an abstract socket; empty on purpose: it has none"),
        pattern=r"[/@].+",
        restart=True,
        may_be_empty=True,
    ),
    text(
        "unix_socket_mode",
        _("Rights of its socket"),
        "0777",
        _("Four octal digits, such as 0770"),
        pattern=r"0[0-7]{3}",
        restart=True,
        octal=True,
    ),
    text(
        "unix_socket_group",
        _("Group of its socket"),
        "",
        _("Which group owns it"),
        pattern=r"[A-Za-z0-9_.-]+",
        restart=True,
    ),
    switch(
        "so_reuseport", _("Share the port"), "0", _("So that several processes use more than one core"), restart=True
    ),
    text(
        "job_name",
        _("Name of the service"),
        "pgbouncer",
        _("Of the process"),
        pattern=r"[A-Za-z0-9_.@-]+",
        restart=True,
    ),
    number(
        "listen_port",
        _("Port"),
        "6432",
        "",
        restart=True,
        fixed=_("Read-only: clients and the panel know it by this port."),
    ),
    text(
        "user",
        _("System user"),
        "",
        "",
        restart=True,
        fixed=_("Read-only: it belongs to the installation, which starts it."),
    ),
    text(
        "pidfile",
        _("PID file"),
        "",
        "",
        restart=True,
        fixed=_("Read-only: it belongs to the installation, which reads it."),
    ),
    text("conffile", _("Main file"), "", "", fixed=_("Read-only: it is the file that the program was started on.")),
)
