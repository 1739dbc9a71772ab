"""Tests of pgbench as an engine."""
