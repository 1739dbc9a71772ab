"""Runs once they are over: noted, brought in from outside, forgotten."""
