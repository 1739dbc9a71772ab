"""What a revision is rendered from, as text and back."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pools.models import Wishes

fields = st.fixed_dictionaries(
    {"name": st.text(), "size": st.integers(), "settings": st.dictionaries(st.text(), st.text(), max_size=2)}
)
plain = st.builds(
    lambda pools, settings: {
        "pools": [one | {"id": str(number)} for number, one in enumerate(pools)],
        "settings": settings,
    },
    st.lists(fields, max_size=3),
    st.dictionaries(st.text(), st.text(), max_size=2),
)


@given(plain)
def test_what_is_kept_as_text_is_read_back(wished: dict[str, Any]) -> None:
    kept = Wishes.from_text(Wishes.of(wished).text)
    assert dict(kept) == wished
    assert kept == Wishes.of(wished)
    assert len(kept.text.split("\n")) == 1 + len(wished["pools"])
    assert kept.text == Wishes.of(wished).text


def test_nothing_is_kept_as_nothing() -> None:
    assert Wishes.of({}).text == ""
    assert not Wishes.from_text("")
    assert Wishes.from_text("").get("pools") is None
    with pytest.raises(KeyError):
        Wishes()["settings"]


def test_no_pools_are_something() -> None:
    assert dict(Wishes.from_text(Wishes.of({"pools": []}).text)) == {"pools": []}
