"""The HTTP load program: a process of its own, with the standard library alone."""
