"""Filters of the pages of runs."""
