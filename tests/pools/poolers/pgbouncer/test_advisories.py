"""Published weaknesses are told for the releases that have them."""

from pools.poolers.advisory import Advisory, release_of
from pools.poolers.pgbouncer.advisories import NEWEST_FIRST, of_release


def cves(text):
    return {one.cve for one in of_release(text)}


def test_each_release_has_what_was_corrected_after_it():
    assert cves("PgBouncer 1.26.1") == set()
    assert cves("PgBouncer 1.26.0") == {"CVE-2026-107350", "CVE-2026-107349", "CVE-2026-107348"}
    assert "CVE-2025-2291" in cves("PgBouncer 1.24.0")
    assert "CVE-2025-2291" not in cves("PgBouncer 1.24.1")
    assert "CVE-2025-12819" in cves("PgBouncer 1.25.0")
    assert "CVE-2025-12819" not in cves("PgBouncer 1.25.1")
    assert "CVE-2021-3935" in cves("PgBouncer 1.16.0")
    assert "CVE-2021-3935" not in cves("PgBouncer 1.18.0")


def test_a_weakness_that_came_later_does_not_concern_older_releases():
    assert "CVE-2026-6667" not in cves("PgBouncer 1.18.0")  # KILL_CLIENT came with 1.24
    assert "CVE-2026-107348" not in cves("PgBouncer 1.18.0")


def test_nothing_is_said_of_an_unknown_release():
    assert of_release("") == ()
    assert release_of("PgBouncer 1.18") == (1, 18, 0)


def test_each_names_the_release_to_upgrade_to_and_is_told_once():
    assert Advisory("CVE-1", (1, 2, 3), "").fixed_in == "1.2.3"
    assert len({one.cve for one in NEWEST_FIRST}) == len(NEWEST_FIRST)
    assert [one.fixed for one in NEWEST_FIRST] == sorted((one.fixed for one in NEWEST_FIRST), reverse=True)
