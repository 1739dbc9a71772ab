"""What size a pool should have: a sweep as an experiment, a fit, and a recommendation with its interval."""
