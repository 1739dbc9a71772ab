"""Generators: the workers that can run engines; who lives, what each of them has, and which a run may name."""
