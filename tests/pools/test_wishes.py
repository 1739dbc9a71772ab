"""What a revision is rendered from, as text and back."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pools.models import Specs

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
def test_what_is_kept_as_text_is_read_back(desired: dict[str, Any]) -> None:
    kept = Specs.from_text(Specs.of(desired).text)
    assert dict(kept) == desired
    assert kept == Specs.of(desired)
    assert len(kept.text.split("\n")) == 1 + len(desired["pools"])
    assert kept.text == Specs.of(desired).text


def test_nothing_is_kept_as_nothing() -> None:
    assert Specs.of({}).text == ""
    assert not Specs.from_text("")
    assert Specs.from_text("").get("pools") is None
    with pytest.raises(KeyError):
        Specs()["settings"]


def test_no_pools_are_something() -> None:
    assert dict(Specs.from_text(Specs.of({"pools": []}).text)) == {"pools": []}
