"""Who may log in, and how that is proved."""

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from pools.poolers.pgbouncer import hba
from pools.poolers.pgbouncer.settings_catalog.shapes import LOCKED_OUT, choice, file, number, of_group, text
from pools.poolers.settings_schema import Version

TYPES = ("any", "trust", "plain", "md5", "cert", "hba", "pam", "scram-sha-256")
PROOF = _(
    "PgBouncer authenticates clients by this method (default {default}); trust and any ask for no password, and any "
    "makes every client an admin of the console."
)
NEEDS = (("hba", ("auth_hba_file",)), ("cert", ("client_tls_ca_file",)))
LDAP_NEEDS = (*NEEDS, ("ldap", ("auth_ldap_options",)))
EXPIRY_IGNORED = "SELECT usename, passwd FROM pg_shadow WHERE usename=$1"
EXPIRY_HEEDED = (  # 1.24.1 and packages with the fix of CVE-2025-2291 have this default
    "SELECT rolname, CASE WHEN rolvaliduntil < now() THEN NULL ELSE rolpassword END "
    "FROM pg_authid WHERE rolname=$1 AND rolcanlogin"
)
REFUSED = (("cert", LOCKED_OUT),)
LOOKUP = _(
    "PgBouncer runs this query, one line of SQL with $1 for the user name that returns name and secret, for users that "
    "auth_file lacks (default {default})."
)
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
    choice("auth_type", TYPES, "md5", PROOF, needs=NEEDS, refused=REFUSED, until=(1, 25)),
    choice("auth_type", (*TYPES, "ldap"), "md5", PROOF, needs=LDAP_NEEDS, refused=REFUSED, since=(1, 25)),
    file(
        "auth_hba_file",
        _(
            "PgBouncer reads access rules from this file when auth_type is hba; each line names type, database, user, "
            "address and method."
        ),
        check=hba.rules_fault,
        agrees=("auth_ident_file", hba.lost_maps_fault),
    ),
    file(
        "auth_ident_file",
        _(
            "PgBouncer reads user name maps from this file for HBA rules with map=; each line names the map, the "
            "system's or certificate's name, and the name in the database."
        ),
        check=hba.maps_fault,
        since=(1, 23),
    ),
    text("auth_user", "", _("PgBouncer logs in to servers as this user to run auth_query (not set by default).")),
    text("auth_query", EXPIRY_IGNORED, LOOKUP, pattern=QUERY, until=(1, 24), carries_sql=True),
    text("auth_query", EXPIRY_HEEDED, LOOKUP, pattern=QUERY, since=(1, 24), carries_sql=True),
    text(
        "auth_dbname",
        "",
        _("PgBouncer runs auth_query in this database entry; an empty field means the entry that the client names."),
        since=(1, 19),
    ),
    text(
        "auth_ldap_options",
        "",
        _('PgBouncer uses these options for the method ldap, as in pg_hba.conf: ldapurl="ldap://host/dc=…".'),
        since=(1, 25),
        check=_bind_password_fault,
    ),
    number(
        "scram_iterations",
        "4096",
        _(
            "PgBouncer hashes passwords that it knows in clear text with this many SCRAM iterations "
            "(default {default}); more are safer against guessing and make logins slower."
        ),
        minimum=1,
        since=(1, 25),
    ),
    text(
        "stats_users",
        "",
        _("PgBouncer lets these users run SHOW commands in its console (none by default); commas separate the names."),
        may_be_empty=True,
    ),
    text(
        "admin_users",
        "",
        _("PgBouncer lets these users run all commands in its console (none by default)."),
        fixed=_("Read-only: the panel's own console login is in it."),
    ),
    text(
        "auth_file",
        "",
        _("PgBouncer reads user names and their passwords or secrets from this file (not set by default)."),
        fixed=_("Read-only: the panel writes the users of its pools into the one there is."),
    ),
)
