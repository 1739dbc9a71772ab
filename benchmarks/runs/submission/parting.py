"""Making the parts of a run that was asked for on several generators."""

from benchmarks.models import Run
from benchmarks.runs.submission import split

SAME = (
    *("cluster", "pool", "external", "is_external", "pooled_by", "database", "pooled", "role", "target_label"),
    *("engine", "purpose", "author", "alongside"),
)


def make_parts(run: Run) -> list[Run]:
    """One queued part for each generator, in their order; raises `InvalidOptions` where the load can't be shared."""
    names = run.wanted_generators
    shares = split.shares(run.engine, run.options, len(names))
    same = {name: getattr(run, name) for name in SAME}
    return [
        Run.objects.enqueue(**same, parent=run, options=share, generator=name, wanted_generators=[name])
        for name, share in zip(names, shares, strict=True)
    ]
