"""Runs once they are over: annotated, exported, imported, removed."""
