"""Finds words on a rendered page that are not in the pseudo-locale: texts that no gettext saw."""

import re
from html.parser import HTMLParser

from tests.panel.template_texts import ATTRIBUTES, NOT_TEXT, SAME_EVERYWHERE

# What is data or the output of a program. Names of records begin with zq, see tests/panel/test_shown_texts.py.
DATA = [
    r"\bzq[\w.-]*",  # names of the test's records
    r"\S*[\d_/.:@=]+\S*",  # numbers, identifiers, file names, addresses
    r"--?[a-z][\w-]*",  # options of command lines
    r"SELECT .+ FROM .+",  # a query that a setting holds
    r"Go pgx|\.NET Npgsql",  # drivers of connection strings
    r"No such file or directory",  # errno(3)
    r"no [\w-]+ on the PATH of this host: [^⟧]*",  # reported and kept by a generator, in its own language
    r"connection to server at .*? failed: .*?accepting TCP/IP connections\?",  # libpq
]
_DATA = re.compile("|".join(reversed(DATA)))
_WORD = re.compile(r"(?<![^\W\d_])[A-Za-z]{2,}(?![^\W\d_])")
SKIPPED = NOT_TEXT | {"time", "textarea"}


def plain_words(text: str) -> list[str]:
    """Return the ASCII words of a text, without data, units, names of programs, and words such as SHOW and UTC."""
    words = _WORD.findall(_DATA.sub(" ", text))
    return [word for word in words if word not in SAME_EVERYWHERE and not word.isupper()]


def untranslated(page: str, most_words: int = 1) -> list[str]:
    """Return the texts and attributes of a page that hold more plain words than that."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    return [f'{name}="{text}"' if name else text for name, text in reader.found if len(plain_words(text)) > most_words]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, str]] = []  # the attribute, and the text
        self._skipped: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        begins = tag in SKIPPED or given.get("translate") == "no"
        if self._skipped[:1] == [tag] or (not self._skipped and begins):
            self._skipped.append(tag)
        if not self._skipped:
            self.found += [(name, " ".join((given[name] or "").split())) for name in sorted(ATTRIBUTES & set(given))]

    def handle_endtag(self, tag: str) -> None:
        if self._skipped[:1] == [tag]:
            self._skipped.pop()

    def handle_data(self, data: str) -> None:
        if not self._skipped and data.strip():
            self.found.append(("", " ".join(data.split())))
