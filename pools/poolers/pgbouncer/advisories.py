"""The published vulnerabilities of PgBouncer in its NEWS.md, and the Debian packages with the fixes."""

from django.utils.translation import gettext_lazy as _

from pools.poolers.advisory import Advisory, release_of

BOOKWORM, TRIXIE = "Debian 12's 1.18.0-1+deb12u1", "Debian 13's 1.24.1-1+deb13u{}"
NEWEST_FIRST = (
    Advisory(
        "CVE-2026-107350",
        (1, 26, 1),
        _("A client that knows the password of one user of auth_file can log in as any other user, including admins."),
        only_if=_("Applies only if both users log in by SCRAM."),
        since=(1, 17, 0),
    ),
    Advisory(
        "CVE-2026-107349",
        (1, 26, 1),
        _("Any client that can connect can put it into an endless loop, so that it stops serving."),
        only_if=_("Applies only if ignore_startup_parameters is set and lacks options."),
        since=(1, 20, 0),
    ),
    Advisory(
        "CVE-2026-107348",
        (1, 26, 1),
        _("A packet that claims more than 2 GiB makes it hang."),
        only_if=_("Applies only if max_packet_size is 2147483649 or more."),
        since=(1, 21, 0),
    ),
    Advisory("CVE-2026-19888", (1, 26, 0), _("Any client that can connect can crash it by a broken SCRAM message.")),
    Advisory("CVE-2026-6668", (1, 26, 0), _("Any client that can connect can make it hang by a very long packet.")),
    Advisory(
        "CVE-2026-6669",
        (1, 26, 0),
        _("A hostile PostgreSQL server can keep it busy endlessly during the login."),
    ),
    Advisory(
        "CVE-2026-6664",
        (1, 25, 2),
        _("Any client that can connect can crash it by a malformed SCRAM packet."),
        packages=(TRIXIE.format(2),),
    ),
    Advisory(
        "CVE-2026-6665",
        (1, 25, 2),
        _("A hostile PostgreSQL server can overflow its stack by a long SCRAM nonce."),
        packages=(TRIXIE.format(2),),
    ),
    Advisory(
        "CVE-2026-6666",
        (1, 25, 2),
        _("A server that sends an error without SQLSTATE can crash it."),
        packages=(TRIXIE.format(2),),
    ),
    Advisory(
        "CVE-2026-6667",
        (1, 25, 2),
        _("Users of the console with read-only rights can disconnect clients by KILL_CLIENT."),
        only_if=_("Applies only if stats_users is set."),
        since=(1, 24, 0),
        packages=(TRIXIE.format(2),),
    ),
    Advisory(
        "CVE-2025-12819",
        (1, 25, 1),
        _("Any client that can connect can run SQL during the login, by a hostile search_path."),
        only_if=_(
            "Applies only if track_extra_parameters holds search_path, auth_user is set, and auth_query does not name "
            "schemas."
        ),
        packages=(BOOKWORM, TRIXIE.format(1)),
    ),
    Advisory(
        "CVE-2025-2291",
        (1, 24, 1),
        _("A password that expired (VALID UNTIL) is still accepted, as auth_query does not check the expiry."),
        only_if=_("Applies only if auth_query is used and does not check rolvaliduntil itself."),
        packages=(BOOKWORM,),
    ),
    Advisory(
        "CVE-2021-3935",
        (1, 16, 1),
        _("An attacker between client and PgBouncer can inject SQL before the encryption starts."),
        only_if=_("Applies only if clients log in by certificate (auth_type cert)."),
    ),
)


def of_release(version_text: str) -> tuple[Advisory, ...]:
    """Return the advisories of the release in SHOW VERSION, the newest first; none without a number."""
    release = release_of(version_text)
    return tuple(one for one in NEWEST_FIRST if one.concerns(release)) if release else ()
