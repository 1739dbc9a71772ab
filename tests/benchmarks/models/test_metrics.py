"""The registry of figures, and the two places that declare the same names with their types."""

from dataclasses import fields

from benchmarks.engines.base import Progress
from benchmarks.models import Sample
from benchmarks.models.metrics import REGISTRY, SAMPLE_KEYS

OF_ITS_PLACE = {"id", "run", "attempt", "seq", "t"}


def test_a_sample_and_a_progress_have_the_figures_of_the_registry() -> None:
    assert {field.name for field in fields(Progress)} == {"t", *SAMPLE_KEYS}
    assert {field.name for field in Sample._meta.get_fields()} - OF_ITS_PLACE == set(SAMPLE_KEYS)


def test_no_figure_is_registered_twice() -> None:
    keys = [metric.key for metric in REGISTRY]
    assert len(keys) == len(set(keys))
    assert len(SAMPLE_KEYS) == len(set(SAMPLE_KEYS))
