"""The engines against real servers."""
