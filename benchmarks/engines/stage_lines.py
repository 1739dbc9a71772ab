"""Stages of a load as people write them, a line each: `30s 10`, `2m 50 500/s`; pure."""

from collections.abc import Sequence

from benchmarks.engines.option_parsing import as_text
from benchmarks.models.options import Stage

SECONDS = {"h": 3600, "m": 60, "s": 1}


def written(stages: Sequence[Stage]) -> str:
    """Return stages as lines of text."""
    return "\n".join(map(in_words, stages))


def in_words(stage: Stage) -> str:
    """Return a stage as its line."""
    unit, seconds = next((unit, each) for unit, each in SECONDS.items() if stage["duration_s"] % each == 0)
    rate = f" {as_text(stage['rate'])}/s" if stage.get("rate") else ""
    return f"{stage['duration_s'] // seconds}{unit} {stage['clients']}{rate}"
