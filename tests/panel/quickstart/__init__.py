"""Tests of panel/quickstart."""
