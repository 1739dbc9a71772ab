"""Tests against real servers and poolers, started for the purpose."""
