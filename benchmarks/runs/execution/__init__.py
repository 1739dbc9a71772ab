"""Execution of a run in its worker: start, record, finish, or reap."""
