"""Tests of the panel's own load programs."""
