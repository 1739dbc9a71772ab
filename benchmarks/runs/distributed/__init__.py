"""Runs over several generators: one load in parts that start on one mark, and whose figures are merged.

The whole is a run as any other; each of its parts is one too, on a generator of its own. `dividing` shares the options
out, `leading` brings the parts together, `taking_part` is what a part does, `merging` and `summaries` make one of many.
"""
