"""A language that no person speaks: each translated text in brackets and accents, so that others stand out."""

import re

import pytest
from django.utils import translation

_KEPT = re.compile(r"(%\(\w+\)[-#0 +]*\d*(?:\.\d+)?[a-zA-Z]|%%|%[sdr]|\{\w*\}|<[^>]*>|&#?\w+;)")
_PLAIN = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_ACCENTED = "áƀçďéƒĝĥíĵķĺɱñóþɋŕšťúʋŵӿýžÁɃÇĎÉƑĜĤÍĴĶĹⱮÑÓÞɊŔŠŤÚƲŴӾÝŽ"
_ACCENTS = str.maketrans(_PLAIN, _ACCENTED)


def pseudo(text: str) -> str:
    """Write a text in that language; placeholders, tags and the white space around it stay."""
    core = text.strip()
    if not core:
        return text
    parts = (part if _KEPT.fullmatch(part) else part.translate(_ACCENTS) for part in _KEPT.split(core))
    before, _, after = text.partition(core)
    return f"{before}⟦{''.join(parts)}⟧{after}"


def speak(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have every gettext of Django answer in that language."""
    translation.gettext("")  # Django puts its functions in place at the first use
    catalog = translation._trans  # type: ignore[attr-defined]
    replaced = {
        "gettext": lambda text: pseudo(str(text)),
        "ngettext": lambda one, many, count: pseudo(one if count == 1 else many),
        "pgettext": lambda context, text: pseudo(str(text)),
        "npgettext": lambda context, one, many, count: pseudo(one if count == 1 else many),
    }
    for name, function in replaced.items():
        monkeypatch.setattr(catalog, name, function)
