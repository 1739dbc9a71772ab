"""Tests of core.accounts."""
