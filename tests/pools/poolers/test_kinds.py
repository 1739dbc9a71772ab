"""The registry: every kind that can be chosen is there, whole."""

import inspect

import pytest

from pools.models import PoolerKind
from pools.poolers import KINDS
from pools.poolers.base import Driver

WHAT_A_KIND_KNOWS = [name for name, known in vars(Driver).items() if callable(known) and not name.startswith("_")]


def test_every_kind_that_can_be_chosen_is_registered() -> None:
    assert set(KINDS) == set(PoolerKind.values)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", WHAT_A_KIND_KNOWS)
def test_every_kind_knows_what_an_apply_needs(kind: str, name: str) -> None:
    assert inspect.signature(getattr(type(KINDS[kind]), name)).parameters.keys() == (
        inspect.signature(getattr(Driver, name)).parameters.keys()
    )


@pytest.mark.parametrize("kind", KINDS)
def test_no_two_settings_of_a_group_look_alike(kind: str) -> None:
    named: dict[tuple[str, str, str], set[str]] = {}
    for one in KINDS[kind].catalog:
        named.setdefault((one.scope, one.group, one.label), set()).add(one.name)
    assert [names for names in named.values() if len(names) > 1] == []
