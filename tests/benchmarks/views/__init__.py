"""Tests of the pages of runs."""
