"""What an experiment shows, in words: reproduced, not reproduced, or not to be judged here, and why."""

from benchmarks.experiments.results import Result


def text_of(result: Result) -> str:
    """Return the conclusion as one text; empty before there is one."""
    return " ".join(sentences(result))


def sentences(result: Result) -> list[str]:
    """Return the conclusion, a sentence each."""
    return []
