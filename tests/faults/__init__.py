"""Faults of every process of an installation, during everything that a panel does; `python -m tests.faults --help`."""
