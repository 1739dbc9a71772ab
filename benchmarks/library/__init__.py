"""What users keep for their runs: scripts and settings profiles."""
