"""What users store for their runs: scripts and settings profiles."""
