"""Experiments: playbooks carried out as interleaved arms, compared honestly, and reported."""
