"""Scripts for the trial of the gate: ordinary ones, and mutations of every way that is known to start a program."""

from hypothesis import strategies as st

TOUCH = "CANARY"  # replaced by a command that touches the canary

# Each ran its command in an unfiltered pgbench (reported of 9.6 to 20devel).
TRICKS = [
    "\\shell CANARY",
    "\\setshell x CANARY",
    "\\SHELL CANARY",
    "\\SetShell x CANARY",
    "\\ shell CANARY",
    "\\\tshell CANARY",
    "\\\x0bshell CANARY",
    "\\\x0cshell CANARY",
    "\\\\shell CANARY",
    "  \\shell CANARY",
    "\\shell \\\nCANARY",
    "\\\nshell CANARY",
    "\\\rshell CANARY",
    "\\sh\\\nell CANARY",
    "SELECT 1 \\shell CANARY",
    "SELECT 1; \\shell CANARY",
    "SELECT 1\\;\\shell CANARY",
    "SELECT 1 \\gset \\shell CANARY",
    "SELECT 1 AS x \\gset\\shell CANARY",
    "/* c */ \\shell CANARY",
    "/* c \\shell CANARY */",
    "-- c\n\\shell CANARY",
    "-- c\r\\shell CANARY",
    "-- c \\shell CANARY",
    "SELECT 'it\\'; \\shell CANARY",
    "SELECT E'it\\''; \\shell CANARY",
    "SELECT 'a\n\\shell CANARY\nb';",
    'SELECT "a\n\\shell CANARY\nb";',
    "SELECT $$a\n\\shell CANARY\nb$$;",
    "\\if 0\n\\shell CANARY\n\\endif",
    "\\if 1\n\\shell CANARY\n\\endif",
    "\\set x 1 \\shell CANARY",
    "\\set x 1 + \\\n2\n\\shell CANARY",
    "\\set x 1\r\\shell CANARY",
    "\\sleep 1 us\r\n\\shell CANARY",
    "\\;\\shell CANARY",
    "\\set\xa0x 1\n\\shell CANARY",
    "\ufeff\\shell CANARY",
    "\u2028\\shell CANARY",
    "\x85\\shell CANARY",
    "\x0b\\shell CANARY",
    "\\shell\x0cCANARY",
    "\\if 0\n\\else\n\\shell CANARY\n\\endif",
    "\\if 1\n\\if 1\n\\shell CANARY\n\\endif\n\\endif",
    "\\;\\;\\shell CANARY",
    "SELECT $q$ \\set x 1\n$q$ \\shell CANARY",
    "SELECT $é$ '$é$ \\shell CANARY",
    "SELECT 'a' -- c\n'b' \\shell CANARY",
    "SELECT U&'d\\0061' \\shell CANARY",
    "SELECT N'x' \\shell CANARY",
    "SELECT :{?x}\\shell CANARY",
    "-- \\\n\\shell CANARY",
    "SELECT 1 -- x\r\\shell CANARY",
    "\\SET x 1\n\\shell CANARY",
    "\\\n\\shell CANARY",
    "\\shell \\\r\nCANARY",
    "\\set x 1 \\\r\n+1\n\\shell CANARY",
    "\\set x `CANARY`\nSELECT :x;",
    "\\! CANARY",
    "\\g |CANARY",
    "\\copy (SELECT 1) to program 'CANARY'",
    # where a comment or a literal is one to the gate and not to pgbench, or the other way round
    "SELECT '--'\n\\shell CANARY",
    "SELECT $$ -- $$ \\shell CANARY",
    "SELECT '/*' \\shell CANARY -- */",
    "/* -- */ \\shell CANARY",
    "/*/ \\shell CANARY",
    "/*/**/ \\shell CANARY */\n\\shell CANARY",
    "--\\\n\\shell CANARY",
    "SELECT e'\\' \\shell CANARY -- '",
    "SELECT some'\\' \\shell CANARY",
    "SELECT E'a'\n'b\\' \\shell CANARY'",
    "SELECT 1$$ \\shell CANARY $$",
    "SELECT a$x$ \\shell CANARY",
    "SELECT $1$ \\shell CANARY $1$",
    "SELECT '\\\nshell CANARY'",
    "\\set x '\n\\shell CANARY",
    "\\set x 1 -- \\shell CANARY",
    "\\set x 1 /* \n\\shell CANARY */",
    "\\set x 1 \\\n\\shell CANARY",
    "\\\\\nshell CANARY",
    "\\set x \\\n\\\nshell CANARY",
]

# Tried as they stand: two of them together would be more than a script may have.
LONG = [
    " " * 60_000 + "\\shell CANARY",
    "-- " + "x" * 60_000 + "\n\\shell CANARY",
    "SELECT '" + "x" * 60_000 + "' \\shell CANARY",
]

# What people write for pgbench, from its manual and from benchmarks that were published.
ORDINARY = [
    "SELECT 1;",
    "\\set aid random(1, 100000 * :scale)\nSELECT abalance FROM pgbench_accounts WHERE aid = :aid;",
    "\\set aid random(1, 100000)\n\\set delta random(-5000, 5000)\nBEGIN;\n"
    "UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;\nEND;",
    "\\set n random_gaussian(1, 100, 2.5)\nSELECT :n;",
    "\\set n random_zipfian(1, 1000, 1.07)\nSELECT :n;",
    "\\set n permute(:client_id, 100, :default_seed)\nSELECT :n;",
    "SELECT 1 \\; SELECT 2;",
    "SELECT 1 AS one, 2 AS two \\gset\nSELECT :one + :two;",
    "SELECT 1 AS a \\; SELECT 2 AS b \\gset p_\nSELECT :p_b;",
    "SELECT 1 AS a \\; SELECT 2 AS b \\aset\nSELECT :a;",
    "\\startpipeline\nSELECT 1;\nSELECT 2;\n\\endpipeline",
    "\\set r random(1, 10)\n\\if :r > 5\nSELECT 'high';\n\\elif :r = 5\nSELECT 'mid';\n\\else\nSELECT 'low';\n\\endif",
    "\\sleep 1 ms\nSELECT 1;",
    "\\set ms 2\n\\sleep :ms ms",
    "-- who reads\nSELECT count(*) FROM pg_class; -- all\n/* and\nmore */\nSELECT now();",
    "SELECT 'it''s', $$dollars$$, \"relname\" FROM pg_class LIMIT 1;",
    "INSERT INTO things (note) VALUES ('naïve café ☕');",
    "SELECT * FROM pg_class\nWHERE relname LIKE 'pg_%'\nORDER BY 1\nLIMIT 5;",
    "WITH t AS (SELECT generate_series(1, 10) AS n) SELECT sum(n) FROM t;",
    "SELECT pg_sleep(0.001);",
    "\\set a 1\n\\set b :a + 1\n\\set c least(:a, :b, 10)\nSELECT :c;",
    "BEGIN;\nSELECT 1;\nROLLBACK;",
    "SELECT 'a:b', '12:30'::time, 1::int;",
    "SELECT '{\"k\": [1, 2]}'::jsonb -> 'k';",
    "\\set x case when :client_id % 2 = 0 then 1 else 2 end\nSELECT :x;",
    "  SELECT 1;\n\n\n\tSELECT 2;\n",
    "SELECT E'tab\\tstop';",
    "SELECT 'abc' ~ '\\d+';",
    "SELECT E'it\\'s', E'\\\\', U&'d\\0061', $$C:\\dir$$, \"a\\b\" FROM (SELECT 1 AS \"a\\b\") AS t;",
    "\\set x 1 + \\\n2\nSELECT :x;",
    "\\set x 1 \\\r\n  + 2\r\nSELECT :x;\r\n",
    # of pgcat's own tests, and of public scripts: old commands as comments, commands in capitals
    "-- \\setrandom aid 1 :naccounts\n\\set aid random(1, 100000)\nSELECT :aid;",
    "/* \\set a 1\n   \\shell ls /* nested */ */ SELECT 1; -- C:\\dir",
    "\\SET rid random_zipfian(1, 10000, 1.001)\nSELECT :rid;",
    "SELECT 1 AS one \\GSET\nSELECT :one;",
    "SELECT 1; \\set x 2\nSELECT :x;",
    "\\ set x 2\nSELECT '12\\:30', 1\\:\\:int;",
    "/*+ SeqScan(pg_class) */ SELECT 1 /* '\n */;",
]

_piece = st.one_of(
    st.sampled_from(TRICKS),
    st.sampled_from(ORDINARY),
    st.sampled_from(
        ["\\", "\\;", ";", "'", "''", '"', "$$", "$q$", "/*", "*/", "--", "\n", "\r", "\r\n", " ", "\t", "\x0b", "\x0c"]
    ),
    st.sampled_from(
        ["\\set x 1", "\\gset", "\\aset", "\\if 1", "\\else", "\\endif", "E'", "U&'", "(", ")", "SELECT 1"]
    ),
    st.sampled_from(["\\shell CANARY", "\\setshell y CANARY", "shell CANARY", "setshell z CANARY", "CANARY"]),
    st.text(st.sampled_from("\\shelSHELt \n\r;'\"$-/*\x0bé\u2003"), max_size=6),
)


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A script of some pieces, a few of its characters doubled, dropped or changed in case."""
    text = draw(st.sampled_from(["", "\n", " "])).join(draw(st.lists(_piece, min_size=1, max_size=4)))
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, len(text)))
        text = draw(
            st.sampled_from(
                [
                    text[:at] + text[at : at + 1].swapcase() + text[at + 1 :],
                    text[:at] + text[at + 1 :],
                    text[:at] + text[at : at + 1] + text[at:],
                    text[:at] + "\\" + text[at:],
                    text[:at] + "\n" + text[at:],
                ]
            )
        )
    return text
