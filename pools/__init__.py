"""Clusters, poolers and pools: what is registered, how it is applied and watched."""
