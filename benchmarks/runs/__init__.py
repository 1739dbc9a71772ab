"""A run's life, from its submission to its last sample."""
