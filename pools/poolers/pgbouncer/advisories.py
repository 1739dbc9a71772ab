"""The published weaknesses of PgBouncer that its NEWS.md names, and the Debian packages that had them corrected."""

from pools.poolers.advisory import Advisory, release_of

BOOKWORM, TRIXIE = "Debian 12's 1.18.0-1+deb12u1", "Debian 13's 1.24.1-1+deb13u{}"
NEWEST_FIRST = (
    Advisory(
        "CVE-2026-107350",
        (1, 26, 1),
        "Who knows the password of one user of auth_file can log in as any other user, admins among them.",
        only_if="both users log in by SCRAM",
        since=(1, 17, 0),
    ),
    Advisory(
        "CVE-2026-107349",
        (1, 26, 1),
        "Anybody who can connect can make it spin for ever, so that it serves nobody.",
        only_if="ignore_startup_parameters is set and lacks options",
        since=(1, 20, 0),
    ),
    Advisory(
        "CVE-2026-107348",
        (1, 26, 1),
        "A packet that says it is longer than 2 GiB makes it hang.",
        only_if="max_packet_size is 2147483649 or more",
        since=(1, 21, 0),
    ),
    Advisory("CVE-2026-19888", (1, 26, 0), "Anybody who can connect can crash it by a broken SCRAM message."),
    Advisory("CVE-2026-6668", (1, 26, 0), "Anybody who can connect can make it hang by a very long packet."),
    Advisory(
        "CVE-2026-6669",
        (1, 26, 0),
        "A hostile PostgreSQL server can keep it busy for ever while it logs in there.",
    ),
    Advisory(
        "CVE-2026-6664",
        (1, 25, 2),
        "Anybody who can connect can crash it by a malformed SCRAM packet.",
        packages=(TRIXIE.format(2),),
    ),
    Advisory(
        "CVE-2026-6665",
        (1, 25, 2),
        "A hostile PostgreSQL server can overflow its stack by a long SCRAM nonce.",
        packages=(TRIXIE.format(2),),
    ),
    Advisory(
        "CVE-2026-6666",
        (1, 25, 2),
        "A server that sends an error without SQLSTATE can crash it.",
        packages=(TRIXIE.format(2),),
    ),
    Advisory(
        "CVE-2026-6667",
        (1, 25, 2),
        "Users of the console who may only look can disconnect clients by KILL_CLIENT.",
        only_if="stats_users is set",
        since=(1, 24, 0),
        packages=(TRIXIE.format(2),),
    ),
    Advisory(
        "CVE-2025-12819",
        (1, 25, 1),
        "Anybody who can connect can run SQL during the login, by a hostile search_path.",
        only_if="track_extra_parameters holds search_path, auth_user is set, and auth_query does not name schemas",
        packages=(BOOKWORM, TRIXIE.format(1)),
    ),
    Advisory(
        "CVE-2025-2291",
        (1, 24, 1),
        "A password that expired (VALID UNTIL) still opens the door, as auth_query does not look at it.",
        only_if="auth_query is used and does not heed rolvaliduntil itself",
        packages=(BOOKWORM,),
    ),
    Advisory(
        "CVE-2021-3935",
        (1, 16, 1),
        "Somebody between client and PgBouncer can slip SQL in before the encryption starts.",
        only_if="clients log in by certificate (auth_type cert)",
    ),
)


def of_release(version_text: str) -> tuple[Advisory, ...]:
    """Those of what SHOW VERSION says, the newest first; none where it says no number."""
    release = release_of(version_text)
    return tuple(one for one in NEWEST_FIRST if one.concerns(release)) if release else ()
