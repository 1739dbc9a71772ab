"""A run from its submission to its last sample."""
