"""What the figures of a run are worth: by themselves, against its thresholds, beside other runs'."""
