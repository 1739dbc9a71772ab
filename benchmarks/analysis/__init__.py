"""Figures of runs judged and drawn: validity, comparison, statements, chart series. Pure."""
