"""Processes of load programs: how they are started, as which account, and in which folder."""
