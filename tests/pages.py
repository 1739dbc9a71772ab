"""The text of pages, compared without the white space that only lays the template out."""

import re

from django.http import HttpResponseBase

_SPACE = re.compile(r"\s+")
_BESIDE_A_TAG = re.compile(r" ?(<[^>]*>) ?")
_IN_A_TAG = re.compile(r" (/?>)")


def flat(text: str) -> str:
    """One line, without space beside tags or before their end."""
    return _IN_A_TAG.sub(r"\1", _BESIDE_A_TAG.sub(r"\1", _SPACE.sub(" ", text)))


class Page(str):
    """A flat text in which texts are looked for as flat ones: `"<b>1</b> pool" in page`."""

    __slots__ = ()

    def __contains__(self, text: object) -> bool:
        return super().__contains__(flat(str(text)).strip())

    def count(self, text: str, *between: int) -> int:  # type: ignore[override]
        return super().count(flat(text), *between)

    def index(self, text: str, *between: int) -> int:  # type: ignore[override]
        return super().index(flat(text), *between)


def page_of(response: HttpResponseBase) -> Page:
    """What a response shows."""
    return Page(flat(response.content.decode()))  # type: ignore[attr-defined]
