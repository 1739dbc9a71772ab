"""Benchmarks of the panel itself: they print figures and judge nothing."""
