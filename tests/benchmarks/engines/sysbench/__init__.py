"""Tests of sysbench as an engine."""
