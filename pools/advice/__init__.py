"""What to choose and what to change: kinds of poolers, modes, and what a client should do."""
