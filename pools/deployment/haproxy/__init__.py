"""Takes a running HAProxy over, and lets it go."""
