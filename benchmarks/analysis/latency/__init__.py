"""Latency distribution of a run: read from its log, stored as a histogram, merged over runs."""
