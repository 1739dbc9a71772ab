"""Events of a run while it is on, for the browsers and scripts that follow it."""
