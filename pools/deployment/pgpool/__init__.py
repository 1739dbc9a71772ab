"""Takes a running Pgpool-II over, and lets it go."""
