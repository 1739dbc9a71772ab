"""Simulations that show how far the verdicts and intervals of `benchmarks.analysis` can be relied on."""
