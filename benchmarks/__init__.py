"""Runs of load programs against clusters and pools: starting, watching, reading and comparing them."""
