"""What each kind of pooler can and cannot do, by release: help to choose one.

The rows are those of a published comparison of the first two; tests/live/pools/advice/test_feature_table.py verifies
each. The answers are the drivers'.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from django.utils.translation import gettext_lazy as _

from pools.models import Pooler, PoolerKind
from pools.poolers import KINDS, kinds_that
from pools.poolers.features import Text
from pools.poolers.settings_schema import Version

QUESTIONS: Mapping[str, Text] = {
    "resources": _("What does it use?"),
    "reuse": _("Who gets a server connection next?"),
    "modes": _("Which modes?"),
    "availability": _("Does it follow a failover?"),
    "balancing": _("Does it spread reads?"),
    "clusters": _("Many clusters behind one?"),
    "limits": _("What can be limited?"),
    "queueing": _("Where do clients wait?"),
    "authentication": _("Can users log in without being listed?"),
    "administration": _("How is it queried and controlled?"),
    "hba": _("Host-based authentication?"),
    "tls": _("TLS to clients and to servers?"),
    "replication": _("Does it replicate, or let replication through?"),
    "license": _("Under which license?"),
    "chaining": _("Can the two be chained?"),
}


@dataclass(frozen=True)
class Answer:
    """The behavior of a release of a kind; `is_stronger`: no other does more."""

    kind: str
    text: Text
    is_stronger: bool


@dataclass(frozen=True)
class Row:
    """A question, with an answer of each kind."""

    key: str
    question: Text
    answers: list[Answer]


def rows(releases: Mapping[str, Version]) -> list[Row]:
    """Return the questions with what these releases do; `releases`: kind → release."""
    return [
        Row(key, question, [_answer(key, kind, release) for kind, release in releases.items()])
        for key, question in QUESTIONS.items()
    ]


def at_hand() -> dict[str, Version]:
    """Return the newest release of each kind that is compared among the registered poolers, or the oldest supported.

    Empty where there are no two kinds to compare.
    """
    compared = kinds_that("features")
    found: dict[str, Version] = {kind: KINDS[kind].version_of("") for kind in compared}
    registered = Pooler.objects.filter(kind__in=compared).exclude(server_version="")
    for kind, text in registered.values_list("kind", "server_version"):
        found[kind] = max(found[kind], KINDS[kind].version_of(text))
    return found if len(found) > 1 else {}


def _answer(key: str, kind: str, release: Version) -> Answer:
    features = KINDS[kind].features
    return Answer(PoolerKind(kind).label, features.in_release(key, release), key in features.stronger)
