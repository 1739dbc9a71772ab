"""What a kind of pooler can and cannot do, by release, in words for people."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from django.utils.functional import Promise

from pools.poolers.settings_schema import NO_VERSION, Version

Text = str | Promise
Words = tuple[tuple[Version, Text], ...]  # (first release, what holds from it on); the last that fits counts


@dataclass(frozen=True)
class Features:
    """The answers of a kind to questions of `advice.feature_table`, and the questions where it does more than others.

    It is not compared with others where it has no answers.
    """

    words: Mapping[str, Words] = field(default_factory=dict)
    stronger: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.words)

    def in_release(self, question: str, version: Version) -> Text:
        """Return the answer as it holds for a release; empty where it has none."""
        return next((text for since, text in reversed(self.words.get(question, ())) if since <= version), "")


def always(words: Text, *later: tuple[Version, Text]) -> Words:
    """Return words that hold for every release, and those that replace them later."""
    return ((NO_VERSION, words), *later)
