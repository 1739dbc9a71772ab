"""Finished runs: annotations, comparison, export, import, retention."""
