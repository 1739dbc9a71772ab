"""The messages of PgBouncer 1.18 to 1.26 that a DBA meets, what each means, and the setting that mends it.

Texts are those of its sources (`client.c`, `server.c`, `objects.c`, `janitor.c`, `hba.c`, `main.c`); the tests read
lines that the real programs wrote.
"""

import re

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from pools.poolers.pooler_log import About, KnownMessage

OWN = "08P01"  # what PgBouncer sends with every error of its own, seen on 1.18.0, 1.24.1 and 1.26.1
# the SQLSTATEs of what PostgreSQL says as it refuses a login, by its sources (postinit.c, auth.c, proc.c, postmaster.c)
OF_SERVER = (
    (re.compile(r"password authentication failed"), "28P01"),
    (
        re.compile(r"no pg_hba.conf entry|authentication failed|is not permitted to log in|role .* does not exist"),
        "28000",
    ),
    (re.compile(r"database .* does not exist"), "3D000"),
    (re.compile(r"too many (?:clients|connections)|remaining connection slots"), "53300"),
    (re.compile(r"the database system is (?:starting up|not yet accepting|not accepting|in recovery)"), "57P03"),
    (re.compile(r"the database system is shutting down|terminating connection due to administrator"), "57P01"),
)

# what PostgreSQL says, as PgBouncer passes it on to the clients that wait for the login
PASSED_ON = (
    r"password authentication failed for user .*|no pg_hba.conf entry for .*|role .* does not exist"
    r"|role .* is not permitted to log in|database .* does not exist|too many connections for .*"
    r"|sorry, too many clients already|remaining connection slots are reserved .*"
)


def _known(
    reason: str,
    pattern: str,
    about: About,
    meaning: str | Promise,
    setting: str = "",
    *,
    adds: bool = False,
) -> KnownMessage:
    return KnownMessage(reason, re.compile(pattern), about, meaning, setting, adds)


KNOWN = (
    _known(
        "unsupported_startup_parameter",
        r"^unsupported startup parameter(?: in options)?: ([\w.]+)",
        About.LOGIN,
        _(
            "The client's driver sends a parameter at the login that PgBouncer can't keep for it. Ignore it, if the "
            "application does not depend on it."
        ),
        "ignore_startup_parameters",
        adds=True,
    ),
    _known(
        "no_such_user",
        r"^no such user(?:: (.*))?$",
        About.LOGIN,
        _("No list of users and no auth_query has this user: add a pool for it, or put it into the list."),
    ),
    _known(
        "no_such_database",
        r"^no such database(?:: (.*))?$",
        About.LOGIN,
        _("No pool has this name. Clients name the pool, which may differ from the database behind it."),
    ),
    _known(
        "password_failed",
        r"^(?:password authentication failed(?! for user)|SASL authentication failed)",
        About.LOGIN,
        _(
            "The password is wrong, or the list of users has another one than the server: apply the pool again after a "
            "password was changed."
        ),
    ),
    _known(
        "login_rejected",
        r'^(?:unix socket login rejected|login rejected|"trust" authentication failed|no authentication method)',
        About.LOGIN,
        _("No rule of auth_hba_file lets this user in from this address."),
        "auth_hba_file",
    ),
    _known(
        "tls_required",
        r"^SSL required",
        About.LOGIN,
        _("The client came without TLS, which client_tls_sslmode requires: it needs sslmode=require."),
        "client_tls_sslmode",
    ),
    _known(
        "tls_handshake",
        r"^(?:TLS handshake error|TLS accept error)",
        About.LOGIN,
        _("Client and PgBouncer found no common TLS version, or one of them refused the other's certificate."),
        "client_tls_protocols",
    ),
    _known(
        "certificate_failed",
        r"^(?:certificate authentication failed|TLS certificate name mismatch)",
        About.LOGIN,
        _("The client's certificate is missing, not of client_tls_ca_file, or names another user."),
        "client_tls_ca_file",
    ),
    _known(
        "client_login_timeout",
        r"^client_login_timeout",
        About.LOGIN,
        _(
            "The login took longer than client_login_timeout: the client was slow, or with “server down” no server "
            "connection could be opened for its first login."
        ),
        "client_login_timeout",
    ),
    _known(
        "wrong_password_type",
        r"^cannot do (?:MD5|SCRAM) authentication: wrong password type",
        About.SERVER,
        _(
            "The server asks for a method for which the stored password is of no use, such as SCRAM with an MD5 hash "
            "in the list of users. Reset the role's password, then apply the pool again."
        ),
    ),
    _known(
        "max_client_conn",
        r"^no more connections allowed \(max_client_conn\)",
        About.LIMIT,
        _("As many clients are connected as max_client_conn lets in, and further ones are refused."),
        "max_client_conn",
    ),
    _known(
        "client_connections",
        r"^client connections exceeded \((max_(?:db|user)_client_connections)\)",
        About.LIMIT,
        _("As many clients are connected as the limit of a database or user lets in."),
        "max_db_client_connections",
    ),
    _known(
        "file_descriptors",
        r"^accept\(\) failed",
        About.LIMIT,
        _(
            "The process may open fewer files than it needs for its clients and servers: raise LimitNOFILE of its unit "
            "above what max_client_conn needs, and restart it."
        ),
    ),
    _known(
        "query_wait_timeout",
        r"^(?:cancel request )?query_wait_timeout",
        About.LIMIT,
        _(
            "A client waited for a server connection for longer than query_wait_timeout and was disconnected. “Why "
            "waiting?” names the cause while it lasts."
        ),
        "query_wait_timeout",
    ),
    _known(
        "query_timeout",
        r"^(?:cancel request )?query[ _]timeout",
        About.LIMIT,
        _("A statement took longer than query_timeout, and its server connection was closed."),
        "query_timeout",
    ),
    _known(
        "idle_transaction_timeout",
        r"^idle[ _]transaction[ _]timeout",
        About.LIMIT,
        _("A transaction was left open without a statement for longer than idle_transaction_timeout."),
        "idle_transaction_timeout",
    ),
    _known(
        "transaction_timeout",
        r"^transaction[ _]timeout",
        About.LIMIT,
        _("A transaction lasted longer than transaction_timeout."),
        "transaction_timeout",
    ),
    _known(
        "client_idle_timeout",
        r"^client_idle_timeout",
        About.LIMIT,
        _("A client sent nothing for longer than client_idle_timeout."),
        "client_idle_timeout",
    ),
    _known(
        "server_login_retry",
        r"^server login has been failing",
        About.SERVER,
        _(
            "The server refused the last login, and PgBouncer tries again only after server_login_retry; clients get "
            "the server's own message meanwhile. The reason stands before it in the log."
        ),
        "server_login_retry",
    ),
    _known(
        "server_login_failed",
        rf"^(?:server login failed: (?:FATAL )?(.*)|({PASSED_ON})|login failed$)",
        About.SERVER,
        _(
            "The server refuses PgBouncer's login, with this reason: a wrong password, no rule in pg_hba.conf, or no "
            "connection left (max_connections)."
        ),
    ),
    _known(
        "connect_failed",
        r"^(?:connect failed|connect timeout|sbuf_connect failed)",
        About.SERVER,
        _("No connection to the server came about: it is down, its port is closed, or a firewall drops packets."),
        "server_connect_timeout",
    ),
    _known(
        "dns",
        r"^(?:DNS lookup failed: (\S+?):|server DNS lookup failed)",
        About.SERVER,
        _(
            "The name of the server has no address at the moment: the name server's answer is kept for "
            "dns_nxdomain_ttl."
        ),
        "dns_nxdomain_ttl",
    ),
    _known(
        "server_crashed",
        r"^(?:server conn crashed\?|server closed the connection|server connection closed|unexpected EOF)",
        About.SERVER,
        _(
            "The server ended a connection that was in use: it was restarted, somebody terminated the session, or "
            "something between cut it."
        ),
    ),
    _known(
        "reset_failed",
        r"^(?:reset query failed|test query failed)",
        About.SERVER,
        _("server_reset_query or server_check_query failed, and the connection was closed."),
        "server_reset_query",
    ),
    _known(
        "auth_query_failed",
        r"^(?:error response from auth_query|unable to send auth_query|unexpected response from auth_query"
        r"|expected 2 columns from auth_query)",
        About.SERVER,
        _("auth_query, which looks passwords up, failed: run it by hand as auth_user on the server."),
        "auth_query",
    ),
    _known(
        "unclean_server",
        r"^(?:unclean server|idle server got dirty|client disconnect(?:ed)? (?:while|before|with)\b)",
        About.CLIENT,
        _(
            "A client left in the middle of a statement or transaction, so its server connection had to be closed, "
            "which costs a login: let the application end its transactions before it disconnects."
        ),
    ),
    _known(
        "client_gone",
        r"^client unexpected eof",
        About.CLIENT,
        _("A client went away without saying so: it was killed, or its network ended."),
    ),
    _known(
        "prepared_statement",
        r"^prepared statement (?:did not exist|name is already in use|.* (?:not found|was already))",
        About.CLIENT,
        _(
            "The client uses a prepared statement that its server connection lacks: set max_prepared_statements, or "
            "switch prepared statements off in the driver."
        ),
        "max_prepared_statements",
    ),
    _known(
        "bad_packet",
        r"^(?:bad packet|client used \S+ packet type|client sent partial pkt|invalid startup packet layout)",
        About.CLIENT,
        _(
            "Something that does not speak PostgreSQL's protocol connected, such as a port scan or a health check of a "
            "load balancer."
        ),
    ),
    _known(
        "disabled",
        r'^database "(.*)" is disabled|^authentication database "(.*)" is',
        About.CONFIGURATION,
        _("Somebody disabled the database on the console: enable it there."),
    ),
    _known(
        "shutting_down",
        r"^(?:pooler is shutting down|server shutting down|got SIG(?:INT|TERM))",
        About.CONFIGURATION,
        _("The process was asked to end."),
    ),
    _known(
        "broken_auth_file",
        r"^(?:broken auth file|could not open auth_file|(?:password|username) too long in auth file)",
        About.CONFIGURATION,
        _(
            "The list of users can't be read as a whole, and users after the broken line can't log in: apply to have "
            "it written anew."
        ),
        "auth_file",
    ),
    _known(
        "configuration_error",
        r"^(?:syntax error in configuration|invalid value \S+ for parameter|unknown parameter|invalid section"
        r"|error processing include|bouncer config error|config file loading failed|RELOAD [Ff]ailed)",
        About.CONFIGURATION,
        _(
            "The configuration has a line that PgBouncer does not take. It reads on with part of it, so that what runs "
            "differs from the file: correct the line and reload."
        ),
    ),
    _known(
        "hba_error",
        r"^(?:hba line \d+|could not (?:open|parse) hba config|ident line \d+|could not parse ident)",
        About.CONFIGURATION,
        _("A line of auth_hba_file is not understood, and lets nobody in."),
        "auth_hba_file",
    ),
    _known(
        "killed",
        r"^(?:admin forced disconnect|KILL '.*' command issued)",
        About.CONFIGURATION,
        _("Somebody ended connections on the console by KILL or KILL_CLIENT."),
    ),
    _known(
        "reloaded",
        r"^(?:RELOAD command issued|got SIGHUP|database configuration changed|obsolete connection|reconnect$"
        r"|server_tls_|new server_tls_)",
        About.ROUTINE,
        _("The configuration was read again, and connections of what changed are replaced."),
    ),
    _known(
        "recycled",
        r"^(?:server lifetime over|server idle timeout|evicted for |cleaning up idle pool|disconnecting idle)",
        About.ROUTINE,
        _("PgBouncer replaces connections of a certain age, and closes those that nobody needs."),
    ),
    _known(
        "connections",
        r"^(?:login attempt:|client close request|new connection to server|login failed:|unlinked|db removed)",
        About.ROUTINE,
        _("Clients and servers come and go; log_connections and log_disconnections write these lines."),
    ),
    _known(
        "started",
        r"^(?:process up|listening on|kernel file descriptor limit)",
        About.ROUTINE,
        _("The process started."),
    ),
    _known("stats", r"^stats: ", About.ROUTINE, _("Figures that log_stats writes each stats_period.")),
)
