"""Differences of files: every change told, no secret shown."""

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from pools.deployment import diff
from pools.deployment.diff import Line, Sign
from pools.poolers import KINDS

NUMBERED = "".join(f"line {number}\n" for number in range(1, 21))
lines = st.lists(st.sampled_from(["a", "b", "c", "d = 1", ""]), max_size=12)


def plain(texts: Mapping[str, str]) -> Mapping[str, str]:
    return texts


def masked(texts: Mapping[str, str]) -> Mapping[str, str]:
    return KINDS["pgbouncer"].masked(texts)


def test_files_that_are_alike_do_not_differ() -> None:
    assert diff.of_files({"a.ini": "x\n"}, {"a.ini": "x\n"}, plain) == []


def test_a_changed_line_stands_between_its_neighbors_with_both_numbers() -> None:
    (found,) = diff.of_files({"a.ini": NUMBERED}, {"a.ini": NUMBERED.replace("line 10", "other")}, plain)
    assert (found.change, found.added, found.removed, len(found.hunks)) == ("changed", 1, 1, 1)
    assert found.hunks[0].header == "@@ -7,7 +7,7 @@"
    assert found.hunks[0].lines[2:5] == [
        Line(Sign.SAME, "line 9", 9, 9),
        Line(Sign.REMOVED, "line 10", old=10),
        Line(Sign.ADDED, "other", new=10),
    ]


def test_changes_far_apart_stand_in_hunks_of_their_own() -> None:
    new = NUMBERED.replace("line 2\n", "").replace("line 19\n", "line 19\nmore\n")
    (found,) = diff.of_files({"a.ini": NUMBERED}, {"a.ini": new}, plain)
    assert [hunk.header for hunk in found.hunks] == ["@@ -1,5 +1,4 @@", "@@ -17,4 +16,5 @@"]


def test_files_that_come_and_go_are_told() -> None:
    found = diff.of_files({"old.ini": "x\n"}, {"new.ini": "y\nz\n"}, plain)
    assert [(one.name, one.change, one.added, one.removed) for one in found] == [
        ("new.ini", "added", 2, 0),
        ("old.ini", "removed", 0, 1),
    ]
    assert found[0].text == "--- new.ini\n+++ new.ini\n@@ -0,0 +1,2 @@\n+y\n+z\n"


def test_a_secret_that_changed_is_told_and_not_shown() -> None:
    old, new = ('"app" "first-secret"\n"bob" "same"\n', '"app" "second-secret"\n"bob" "same"\n')
    (found,) = diff.of_files({"userlist.txt": old}, {"userlist.txt": new}, masked)
    assert found.text.splitlines()[3:] == ['-"app" "••••"', '+"app" "••••"', "\\ secret changed", ' "bob" "••••"']
    assert "secret" not in found.text.replace("secret changed", "")


def test_a_secret_that_changed_beside_other_things_is_told_too() -> None:
    old = "[databases]\norders = host='a' password='one' pool_size=3\n"
    new = "[databases]\norders = host='a' password='two' pool_size=7\n"
    (found,) = diff.of_files({"pooldeck.ini": old}, {"pooldeck.ini": new}, masked)
    assert [(line.sign, line.note) for line in found.hunks[0].lines[1:]] == [
        (Sign.REMOVED, ""),
        (Sign.ADDED, "secret changed"),
    ]


def test_a_secret_that_stays_is_not_called_changed() -> None:
    old = "orders = password='one' pool_size=3\n"
    (found,) = diff.of_files({"pooldeck.ini": old}, {"pooldeck.ini": old.replace("3", "7")}, masked)
    assert [line.note for line in found.hunks[0].lines] == ["", ""]


def test_a_private_key_that_changed_is_told_and_not_shown() -> None:
    key = "-----BEGIN PRIVATE KEY-----\n{}\n{}\n-----END PRIVATE KEY-----\n"
    old, new = ({"pooldeck_server_tls_key_file.pem": key.format(one, one)} for one in ("MIIone", "MIItwo"))
    (found,) = diff.of_files(old, new, masked)
    assert "secret changed" in found.text
    assert "MII" not in found.text


def test_more_lines_than_a_page_can_carry_are_counted() -> None:
    new = "".join(f"{number}\n" for number in range(diff.MOST_LINES + 5))
    (found,) = diff.of_files({}, {"a.ini": new}, plain)
    assert (found.added, found.hidden, len(found.hunks[0].lines)) == (diff.MOST_LINES + 5, 5, diff.MOST_LINES)


@given(lines, lines)
def test_the_new_file_can_be_made_from_the_old_one_and_the_diff(old: list[str], new: list[str]) -> None:
    before, after = ("\n".join(one) + "\n" if one else "" for one in (old, new))
    made = list(before.removesuffix("\n").split("\n")) if before else []
    for found in diff.of_files({"a": before}, {"a": after}, plain):
        for hunk in reversed(found.hunks):
            kept = [line.text for line in hunk.lines if line.sign != Sign.REMOVED]
            there = [line for line in hunk.lines if line.sign != Sign.ADDED]
            start = there[0].old - 1 if there else int(hunk.header.split(",")[0].removeprefix("@@ -"))
            made[start : start + len(there)] = kept
    assert "\n".join(made) + ("\n" if made else "") == after
