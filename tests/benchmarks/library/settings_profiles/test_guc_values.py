"""Values of server settings, read as PostgreSQL reads them."""

import re

import pytest

from benchmarks.library.settings_profiles.guc_values import ServerSetting, in_words, read

BUFFERS = ServerSetting("shared_buffers", "16384", "8kB", "postmaster", "integer", minimum="16", maximum="1073741823")
WORK = ServerSetting("work_mem", "4096", "kB", "user", "integer", minimum="64", maximum="2147483647")
TIMEOUT = ServerSetting("checkpoint_timeout", "300", "s", "sighup", "integer", minimum="30", maximum="86400")
COST = ServerSetting("random_page_cost", "4", "", "user", "real", minimum="0", maximum="1.79769e+308")
FLAG = ServerSetting("autovacuum", "on", "", "sighup", "bool")
COMMIT = ServerSetting(
    "synchronous_commit", "on", "", "user", "enum", ("local", "remote_write", "remote_apply", "on", "off")
)
TEXT = ServerSetting("log_line_prefix", "%m ", "", "sighup", "string")


@pytest.mark.parametrize(
    ("known", "text", "setting"),
    [
        (BUFFERS, "128MB", "16384"),
        (BUFFERS, "16384", "16384"),
        (BUFFERS, "0.5GB", "65536"),
        (WORK, "16MB", "16384"),
        (WORK, " 4 MB ", "4096"),
        (TIMEOUT, "5min", "300"),
        (TIMEOUT, "1h", "3600"),
        (COST, "1.1", "1.1"),
        (FLAG, "FALSE", "off"),
        (FLAG, "1", "on"),
        (COMMIT, "Remote_Write", "remote_write"),
        (COMMIT, "no", "off"),
        (TEXT, "%m [%p] ", "%m [%p] "),
    ],
)
def test_a_value_reads_as_the_server_would_show_it(known, text, setting):
    assert read(known, text) == setting


@pytest.mark.parametrize(
    ("known", "text", "message"),
    [
        (WORK, "16mb", "'mb' is not a unit of work_mem: use a number with one of the units B, kB, MB, GB, TB"),
        (WORK, "5min", "'min' is not a unit of work_mem: use a number with one of the units B, kB, MB, GB, TB"),
        (WORK, "1kB", "'1kB' is out of range: use 64kB to 2147483647kB"),
        (TIMEOUT, "5 minutes", "'minutes' is not a unit of checkpoint_timeout"),
        (COST, "1MB", "1MB has a unit, and random_page_cost takes none: leave it out"),
        (COST, "cheap", "'cheap' is not a number: use a number without a unit"),
        (FLAG, "maybe", "'maybe' is neither on nor off: use one of these"),
        (COMMIT, "often", "'often' is none of its values: use local, remote_write, remote_apply, on, off"),
        (TEXT, "a\nb", "a value is one line: leave out line breaks and NUL"),
    ],
)
def test_what_the_server_would_refuse_is_refused_with_the_remedy(known, text, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        read(known, text)


@pytest.mark.parametrize(
    ("setting", "unit", "words"),
    [
        ("16384", "8kB", "128MB"),
        ("4096", "kB", "4MB"),
        ("300", "s", "5min"),
        ("100", "", "100"),
        ("-1", "kB", "-1"),
        ("0", "ms", "0"),
        ("1500", "ms", "1500ms"),
        ("on", "", "on"),
    ],
)
def test_a_setting_is_said_in_its_largest_whole_unit(setting, unit, words):
    assert in_words(setting, unit) == words
