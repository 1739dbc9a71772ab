"""Export of a run and of a comparison: CSV, JSON, HTML."""
