"""Who may log in, and how that is proved."""

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from pools.poolers.pgbouncer import hba
from pools.poolers.pgbouncer.settings_catalog.shapes import LOCKED_OUT, choice, file, number, of_group, text
from pools.poolers.settings_schema import Version

TYPES = ("any", "trust", "plain", "md5", "cert", "hba", "pam", "scram-sha-256")
PROOF = _("How clients authenticate; any and trust require nothing, and any makes every client an admin of the console")
NEEDS = (("hba", ("auth_hba_file",)), ("cert", ("client_tls_ca_file",)))
LDAP_NEEDS = (*NEEDS, ("ldap", ("auth_ldap_options",)))
EXPIRY_IGNORED = "SELECT usename, passwd FROM pg_shadow WHERE usename=$1"
EXPIRY_HEEDED = (  # since 1.24.1, and in packages with the fix of CVE-2025-2291
    "SELECT rolname, CASE WHEN rolvaliduntil < now() THEN NULL ELSE rolpassword END "
    "FROM pg_authid WHERE rolname=$1 AND rolcanlogin"
)
REFUSED = (("cert", LOCKED_OUT),)
LOOKUP = _("One line of SQL with $1 for the user name, which returns name and secret")
QUERY = r".*\$1(?![0-9]).*"


def _bind_password_fault(text: str, _version: Version) -> str:
    """Return why the options can't be kept: all readers of the panel see settings; given files are kept encrypted."""
    if "ldapbindpasswd" not in text.lower():
        return ""
    return gettext(
        "ldapbindpasswd would be shown to every reader: put it into a rule of auth_hba_file, with method ldap"
    )


SETTINGS = of_group(
    _("Authentication"),
    choice("auth_type", _("Method"), TYPES, "md5", PROOF, needs=NEEDS, refused=REFUSED, until=(1, 25)),
    choice("auth_type", _("Method"), (*TYPES, "ldap"), "md5", PROOF, needs=LDAP_NEEDS, refused=REFUSED, since=(1, 25)),
    file(
        "auth_hba_file",
        _("Rules by address (HBA)"),
        _("Lines of type, database, user, address and method, used with the method hba"),
        check=hba.rules_fault,
        agrees=("auth_ident_file", hba.lost_maps_fault),
    ),
    file(
        "auth_ident_file",
        _("User name maps"),
        _("Lines of map, name of the system or certificate, and name in the database, used with map= in HBA rules"),
        check=hba.maps_fault,
        since=(1, 23),
    ),
    text("auth_user", _("User for look-ups"), "", _("Logs in to find the secrets of users that the user list lacks")),
    text("auth_query", _("Look-up query"), EXPIRY_IGNORED, LOOKUP, pattern=QUERY, until=(1, 24), carries_sql=True),
    text("auth_query", _("Look-up query"), EXPIRY_HEEDED, LOOKUP, pattern=QUERY, since=(1, 24), carries_sql=True),
    text(
        "auth_dbname",
        _("Database for look-ups"),
        "",
        _("An entry to run the query in; empty: the client's"),
        since=(1, 19),
    ),
    text(
        "auth_ldap_options",
        _("LDAP options"),
        "",
        _('As in pg_hba.conf: ldapurl="ldap://host/dc=…"'),
        since=(1, 25),
        check=_bind_password_fault,
    ),
    number(
        "scram_iterations",
        _("SCRAM iterations"),
        "4096",
        _("For passwords stored in clear; more is safer against guessing, and logs in more slowly"),
        minimum=1,
        since=(1, 25),
    ),
    text(
        "stats_users",
        _("Users with read access"),
        "",
        _("Names with commas between, who may use SHOW in the console"),
        may_be_empty=True,
    ),
    text(
        "admin_users",
        _("Users with full access"),
        "",
        "",
        fixed=_("Read-only: the panel's own console login is in it."),
    ),
    text(
        "auth_file",
        _("User list"),
        "",
        "",
        fixed=_("Read-only: the panel writes the users of its pools into the one there is."),
    ),
)
