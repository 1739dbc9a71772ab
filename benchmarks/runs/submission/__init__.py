"""Submission of runs: resolve, check against limits, save, dispatch, queue, cancel."""
