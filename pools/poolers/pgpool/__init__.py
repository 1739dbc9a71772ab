"""The driver of Pgpool-II: settings, files, preflight, verification, PCP and SHOW."""
