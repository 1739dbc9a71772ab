"""Distributed runs: one load in parts that start at one time, and whose figures are merged.

The whole is a run as any other; each of its parts is one too, on a generator of its own. `submission.split` divides the
options, `coordinator` brings the parts together, `execution.synchronized_start` is a part's side of the start, and
`merge_samples` and `merge_summaries` merge their figures.
"""
