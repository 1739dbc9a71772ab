"""Live events of a run, for the browsers and scripts that follow it."""
