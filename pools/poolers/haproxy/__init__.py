"""The driver of HAProxy."""
