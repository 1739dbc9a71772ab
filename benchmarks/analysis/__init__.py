"""Judging and drawing the figures of runs: validity, comparison, statements, chart series."""
