"""The pages of runs and datasets."""
