"""Tests of the REST API of runs."""
