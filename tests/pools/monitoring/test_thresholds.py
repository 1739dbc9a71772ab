"""Bounds: defaults, what people set, what can't hold."""

import pytest

from pools.errors import InvalidValues
from pools.models import EventKind, Threshold
from pools.monitoring import thresholds
from pools.monitoring.hysteresis import Rule

pytestmark = pytest.mark.django_db


def test_every_kind_has_a_rule_that_can_hold():
    assert set(thresholds.bounds()) == set(EventKind)
    assert [thresholds.problem_of(bound.rule) for bound in thresholds.bounds().values()] == [""] * len(EventKind)


def test_what_people_set_holds_and_the_others_stay():
    thresholds.change({EventKind.LAG: (Rule(10, 5, 20), False)})
    found = thresholds.bounds()
    assert (found[EventKind.LAG].rule, found[EventKind.LAG].enabled) == (Rule(10, 5, 20), False)
    assert found[EventKind.WAITING].rule == thresholds.WATCHES[EventKind.WAITING].rule


@pytest.mark.parametrize("rule", [Rule(0, 0, 0), Rule(5, 6, 0), Rule(5, 0, 0), Rule(5, 5, -1), Rule(5, 5, 86_401)])
def test_one_rule_that_can_not_hold_changes_none(rule):
    with pytest.raises(InvalidValues):
        thresholds.change({EventKind.LAG: (Rule(10, 5, 20), True), EventKind.BUDGET: (rule, True)})
    assert Threshold.objects.count() == 0


def test_a_bound_of_a_value_that_falls_keeps_its_direction():
    thresholds.change({EventKind.CERTIFICATE: (Rule(7, 14, 0, falls=True), True)})
    assert thresholds.bounds()[EventKind.CERTIFICATE].rule == Rule(7, 14, 0, falls=True)
    with pytest.raises(InvalidValues) as refused:
        thresholds.change({EventKind.CERTIFICATE: (Rule(7, 6, 0, falls=True), True)})
    assert refused.value.errors == {
        "certificate": ["an event may not close above 6: use at least 7, where it opens"],
    }
