"""Pgpool-II: its catalogue, files, rehearsal and read-back, PCP and SHOW."""
