"""Playbooks: the matrix of axes, what was published for each arm, and faults with their key and line."""

import pytest

from benchmarks.experiments import library
from benchmarks.experiments.playbook import InvalidPlaybook, parse

SMALL = """\
name = "small"
title = "Small"
baseline = { endpoint = "none" }
metrics = ["tps"]

[options]
builtin = "select-only"
threads = 4

[axes]
clients = [1, 10]

[[axes.endpoint]]
key = "none"
endpoint = { kind = "direct" }

[[axes.endpoint]]
key = "pool"
endpoint = { kind = "pgbouncer", size = 5 }

[[exclude]]
clients = 10
endpoint = "pool"

[[published]]
clients = 1
endpoint = "pool"
tps = 12.5

[quick]
options = { duration = 2 }

[published_scale]
options = { duration = 600 }
"""


def test_arms_are_the_matrix_without_what_is_excluded() -> None:
    spec = parse(SMALL)
    arms = spec.arms(quick=True)
    assert [arm.key for arm in arms] == ["1-none", "1-pool", "10-none"]
    assert arms[1].options == {"builtin": "select-only", "threads": 1, "duration": 2, "clients": 1}
    assert (arms[1].endpoint.kind, arms[1].endpoint.size, arms[1].published) == ("pgbouncer", 5, {"tps": 12.5})
    assert [base.key if (base := spec.baseline_of(arm, arms)) else None for arm in arms] == [None, "1-none", None]
    assert spec.arms(quick=False, overrides={"duration": 3})[0].options["duration"] == 3


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("threads = 4", "threads = ", "line 8"),
        ('title = "Small"', "title = 3", "line 2, title"),
        ('kind = "pgbouncer"', 'kind = "no kind"', "line 19, axes.endpoint.1.endpoint.kind"),
        ('endpoint = "none" }', 'pooler = "none" }', "line 3, baseline.pooler"),
        ("[quick]", "[quick]\nrepeats = 0", "line 31, quick.repeats"),
        ("clients = [1, 10]", "clients = [1]", "line 11"),
        ("[options]", "sizes = 3\n[options]", "sizes"),
    ],
)
def test_a_fault_names_the_key_and_the_line(old: str, new: str, fault: str) -> None:
    assert SMALL.count(old) >= 1
    text = SMALL.replace(old, new, 1)
    if fault == "line 11":
        text = text.replace('key = "pool"\nendpoint', 'key = "none"\nendpoint', 1)
        fault = "two arms"
    with pytest.raises(InvalidPlaybook) as refused:
        parse(text, is_new=True)
    assert fault in str(refused.value)


@pytest.mark.parametrize("name", library.BUILT_IN)
def test_each_built_in_playbook_can_be_carried_out_in_both_sizes(name: str) -> None:
    spec = library.built_in()[name]
    for quick in (True, False):
        arms = spec.arms(quick=quick)
        assert any(spec.baseline_of(arm, arms) for arm in arms)
        assert any(arm.published for arm in arms)


@pytest.mark.parametrize("name", library.BUILT_IN)
def test_each_quick_form_goes_on_until_it_decides_or_a_named_time_is_spent(name: str) -> None:
    assert 120 <= (library.built_in()[name].quick.seconds or 0) <= 600


@pytest.mark.django_db
def test_a_playbook_of_ones_own_is_kept_found_and_removed() -> None:
    library.add(SMALL, is_admin=True)
    assert library.find("small").title == "Small"
    assert [spec.name for spec in library.listed()][-1] == "small"
    with pytest.raises(InvalidPlaybook, match="is taken"):
        library.add(SMALL, is_admin=True)
    library.remove("small")
    with pytest.raises(library.UnknownPlaybook):
        library.find("small")


def test_a_stored_playbook_may_name_a_kind_that_the_panel_no_longer_has() -> None:
    text = SMALL.replace("pgbouncer", "no-such-kind")
    assert any(arm.endpoint.kind == "no-such-kind" for arm in parse(text).arms(quick=False))
    with pytest.raises(InvalidPlaybook, match="no-such-kind' is not one of"):
        parse(text, is_new=True)
