"""Load programs of the panel's own: each is a process by itself, of the standard library alone."""
