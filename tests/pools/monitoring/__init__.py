"""Tests of what pools do over time."""
