"""The admin console of a pooler: its commands (PAUSE to KILL) and its SHOW tables."""
