"""Tests of panel.accounts."""
