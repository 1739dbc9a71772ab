"""The registry: every kind that can be chosen is there, whole."""

import inspect

import pytest

from pools.models import PoolerKind
from pools.poolers import KINDS
from pools.poolers.kind import Kind

WHAT_A_KIND_KNOWS = [name for name in vars(Kind) if not name.startswith("_")]


def test_every_kind_that_can_be_chosen_is_registered() -> None:
    assert set(KINDS) == set(PoolerKind.values)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", WHAT_A_KIND_KNOWS)
def test_every_kind_knows_what_an_apply_needs(kind: str, name: str) -> None:
    assert inspect.signature(getattr(type(KINDS[kind]), name)).parameters.keys() == (
        inspect.signature(getattr(Kind, name)).parameters.keys()
    )
