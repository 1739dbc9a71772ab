"""The meaning of the columns of HAProxy's SHOW STAT (its management guide, "Statistics and monitoring")."""

from django.utils.translation import gettext_lazy as _

from pools.poolers.admin_commands import Column

COLUMNS: dict[str, Column] = {
    "pxname": Column(_("The proxy: a frontend or a backend")),
    "svname": Column(_("The server, or FRONTEND or BACKEND for the sum")),
    "qcur": Column(_("Sessions that wait in the queue now"), "count", alarms=True),
    "qmax": Column(_("The most that waited in the queue"), "count"),
    "scur": Column(_("Sessions now"), "count"),
    "smax": Column(_("The most sessions at once"), "count"),
    "slim": Column(_("The limit of sessions at once (maxconn)"), "count"),
    "stot": Column(_("Sessions since the worker started"), "count"),
    "bin": Column(_("Received from clients"), "bytes"),
    "bout": Column(_("Sent to clients"), "bytes"),
    "econ": Column(_("Connections to the server that failed"), "count", alarms=True),
    "wretr": Column(_("Connections that were retried"), "count"),
    "wredis": Column(_("Sessions that were sent to another server"), "count"),
    "status": Column(_("UP, DOWN, OPEN, or NOLB, MAINT, DRAIN")),
    "weight": Column(_("Its share of new sessions")),
    "chkfail": Column(_("Failed health checks"), "count"),
    "chkdown": Column(_("How often it went from up to down"), "count"),
    "lastchg": Column(_("Since it last went up or down"), "s"),
    "downtime": Column(_("How long it was down in all"), "s"),
    "check_status": Column(_("What the last health check found: L7OK, L4CON (refused), L4TOUT (no answer), …")),
    "check_duration": Column(_("How long the last health check took, in ms")),
    "last_chk": Column(_("The server's answer to the last health check")),
    "addr": Column(_("Where the server is")),
    "mode": Column(_("tcp or http")),
    "algo": Column(_("How new sessions are spread (balance)")),
    "qtime": Column(_("Average time in the queue over the last 1,024 sessions, in ms")),
    "ctime": Column(_("Average time to connect over the last 1,024 sessions, in ms")),
    "ttime": Column(_("Average length of the last 1,024 sessions, in ms")),
    "srv_addr": Column(_("Where the server is")),
    "srv_op_state": Column(_("0 down, 1 starting, 2 up, 3 stopping")),
    "srv_fqdn": Column(_("Its name, where it has one")),
    "age": Column(_("How long the session has lasted")),
    "srv": Column(_("The server that the session is connected to")),
    "src": Column(_("The client")),
}
