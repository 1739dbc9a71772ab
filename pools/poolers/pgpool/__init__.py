"""Pgpool-II: its reachability; configuring it comes later."""
