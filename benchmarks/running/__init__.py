"""A run while it is on: carried out, written down, told to who watches, cancelled, or reaped."""
