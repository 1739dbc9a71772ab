"""Generators: workers that can run engines; which are alive, what each has, and which a run may name."""
