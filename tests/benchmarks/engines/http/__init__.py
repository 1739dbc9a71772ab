"""Tests of HTTP as an engine."""
