"""Which scripts pgbench may be given: every backslash that is not known to be harmless is refused, naming its line."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.engines import script_gate
from benchmarks.engines.script_text import for_pgbench

ORDINARY = [
    "SELECT 1;",
    "SELECT 1;\n",
    "\\set aid random(1, 100000 * :scale)\nSELECT abalance FROM pgbench_accounts WHERE aid = :aid;",
    "  \\set n 1\n\t\\sleep :n ms\nSELECT :n;",
    "BEGIN;\nSELECT 1 \\; SELECT 2;\nEND;",
    "\\;",
    "SELECT 1 AS x \\gset\nSELECT :x;",
    "SELECT 1 AS x \\gset one_ \nSELECT :one_x;",
    "SELECT 1 AS x\n  \\gset\n",
    "SELECT 1 AS a \\; SELECT 2 AS b \\aset",
    "\\if :n > 5\nSELECT 1;\n\\elif :n = 2\nSELECT 2;\n\\else\nSELECT 3;\n\\endif",
    "\\startpipeline\nSELECT 1;\n\\syncpipeline\nSELECT 2;\n\\endpipeline",
    "-- a comment\n/* and another */ SELECT 'it''s';",
    "SELECT 'ümläut', $$dollars$$, \"Name\";",
    "-- \\setrandom aid 1 :naccounts\n\\set aid random(1, 100000)\nSELECT :aid;",
    "/* \\shell touch x\n /* nested \\ */ */ SELECT 1;",
    "\\SET rid random_zipfian(1, 10000, 1.001)\nSELECT :rid;",
    "SELECT 1 AS x \\Gset",
    "SELECT 1 \\set x 2",
    "\\ set x 1",
    "\\set x 1 + \\\n2\nSELECT :x;",
    "SELECT 1;\r\nSELECT 2;\r\n",
    "SELECT 'C:\\dir', E'tab\\t', $$\\d$$;",
    "SELECT 1\\:\\:int;",
]

# Each ran a command in a real, unfiltered pgbench.
RAN = [
    "\\shell touch x",
    "\\SHELL touch x",
    "\\ shell touch x",
    "\\\tshell touch x",
    "SELECT 1 \\shell touch x",
    "SELECT 1\\;\\shell touch x",
    "/* c */ \\shell touch x",
    "\\shell \\\ntouch x",
    "SELECT 'it\\';\\shell touch x",
    "SELECT 1;\r\\shell touch x",
    "\\setshell x touch x",
    "\\set x 1\n\\setshell x echo 7",
]


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_scripts_pass(text):
    script_gate.check(text)


@pytest.mark.parametrize("text", RAN)
def test_whatever_ran_a_command_is_refused(text):
    with pytest.raises(script_gate.ScriptRefused):
        script_gate.check(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "SELECT 1;\n\nSELECT 1 \\shell echo",
            "line 3 ('SELECT 1 \\shell echo'): \\shell starts a program on the host of the load, which no script may "
            "do: leave it out",
        ),
        (
            "\\i other.sql",
            "line 1 ('\\i other.sql'): \\i is not a command that a script may use here: use \\set \\sleep \\if \\elif "
            "\\else \\endif \\startpipeline \\endpipeline \\syncpipeline \\gset \\aset, and \\; between statements",
        ),
        (
            "\\setrandom aid 1 :naccounts",
            "line 1 ('\\setrandom aid 1 :naccounts'): \\setrandom was removed in pgbench 9.6: write \\set aid random("
            "1, :naccounts) in its place",
        ),
        (
            "\\setrandom n 1 9 gaussian 2.5",
            "line 1 ('\\setrandom n 1 9 gaussian 2.5'): \\setrandom was removed in pgbench 9.6: write \\set n "
            "random_gaussian(1, 9, 2.5) in its place",
        ),
        (
            "SELECT 1 AS x \\gset p; SELECT 2;",
            "line 1 ('SELECT 1 AS x \\gset p; SELECT 2;'): \\gset must be the last on its line, with at most a prefix "
            "of letters and digits after it",
        ),
        (
            "\\set x 1 \\; SELECT 1",
            "line 1 ('\\set x 1 \\; SELECT 1'): \\set takes the rest of its line, which can't hold another backslash: "
            "begin a new line",
        ),
        (
            "\\set\xa0x 1",
            "line 1 ('\\set\\xa0x 1'): \\set must be followed by a blank, not by U+00A0",
        ),
        ("SELECT 1 \\", "line 1 ('SELECT 1 \\'): this backslash does not begin a command: leave it out"),
        (
            "SELECT ' \\shell touch x '",
            "line 1 (\"SELECT ' \\shell touch x '\"): a literal can't hold \\shell, with which pgbench starts programs",
        ),
        ("SELECT 1;\rSELECT 2;", "line 1: a carriage return ends a line for pgbench: end lines by a line feed alone"),
        ("SELECT 1;\nSELECT '\0';", "line 2: a NUL ends the script for pgbench: leave it out"),
        (
            "\ufffdPNG\n\x1a\nIHDR\\x",
            "line 2: the character U+001A is not text: is this a script, in UTF-8?",
        ),
        ("SELECT 1;\n\x1a", "line 2: the character U+001A is not text: is this a script, in UTF-8?"),
        ("\nSELECT '\ud800';", "line 2: a character can't be encoded in UTF-8: leave it out"),
        ("\ufeffSELECT 1;", "line 1: the script begins with a byte order mark, which is not SQL: leave it out"),
        (" \n\t", "the script is empty: write a statement, such as SELECT 1;"),
        ("-- \\set x 1", "the script holds nothing but comments: write a statement, such as SELECT 1;"),
        ("-" * 65_537, "the script has 65,537 bytes: use at most 65,536"),
    ],
)
def test_a_refusal_names_the_line_and_the_remedy(text, message):
    with pytest.raises(script_gate.ScriptRefused) as refused:
        script_gate.check(text)
    assert str(refused.value) == message


@pytest.mark.parametrize(
    "text",
    [
        "\\set x 1 \\; SELECT 1",
        "\\settle",
        "\\set\x0bx 1",
        "\\set\xa0x 1",
        "\\\\;gset",
        "SELECT 1 \\gset \\shell touch x",
        "SELECT 1 \\gset a b",
        "SELECT 1 \\gset\x0b",
        "SELECT 'a\n\\shell touch x\n'",
        "SELECT $$ \\\nshell touch x $$",
        "\\i other.sql",
        "\\",
    ],
)
def test_a_backslash_elsewhere_is_refused_even_where_it_would_be_harmless(text):
    with pytest.raises(script_gate.ScriptRefused):
        script_gate.check(text)


@pytest.mark.parametrize(
    ("text", "major"),
    [
        ("SELECT 1 AS x \\gset", 12),
        ("SELECT 1 AS x \\aset", 13),
        ("\\startpipeline", 14),
        ("\\endpipeline", 14),
        ("\\syncpipeline", 17),
        ("\\if 1\n\\endif", 11),
        ("\\set x 1", 9),
    ],
)
def test_a_command_is_refused_by_versions_that_do_not_know_it(text, major):
    script_gate.check(text, major=major)
    if major > 9:
        with pytest.raises(script_gate.ScriptRefused, match=f"needs pgbench {major} or newer, this one is {major - 1}"):
            script_gate.check(text, major=major - 1)


def test_the_scripts_of_a_run_have_a_number_and_a_size():
    script_gate.check_total(["SELECT 1;"] * 128)
    with pytest.raises(script_gate.ScriptRefused, match="129 scripts are more than pgbench takes: use at most 128"):
        script_gate.check_total(["SELECT 1;"] * 129)
    with pytest.raises(script_gate.ScriptRefused, match="have 300,000 bytes together: use at most 262,144"):
        script_gate.check_total(["-" * 60_000] * 5)


@given(st.text(st.sampled_from("\\;\n\r\t shelSHELtgax1'\"$*/-:\0\x0b\xa0\ud800")))
def test_what_passes_is_given_without_a_backslash_that_could_start_a_program(text):
    try:
        script_gate.check(text)
    except script_gate.ScriptRefused:
        return
    given_text = for_pgbench(text)
    assert "\r" not in given_text
    assert given_text.count("\n") == text.replace("\r\n", "\n").count("\n")
    for_any_lexer = re.split(r"\\[\s\\]*", given_text)[1:]
    assert not [piece for piece in for_any_lexer if piece.lower().startswith(("shell", "setshell"))]


def test_a_hint_stays_and_a_comment_with_a_backslash_is_blanked():
    text = "/*+ SeqScan(t) */ SELECT 1; -- C:\\dir\nSELECT '-- \\d' /* \\set\n*/;"
    assert for_pgbench(text) == "/*+ SeqScan(t) */ SELECT 1;          \nSELECT '-- \\d'        \n  ;"
    assert for_pgbench("\\set x 1 \\\n + 2\nSELECT :x") == "\\set x 1    + 2\n\nSELECT :x"
