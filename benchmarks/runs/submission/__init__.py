"""Submitting runs: resolved, checked against limits, saved, dispatched, queued, cancelled."""
