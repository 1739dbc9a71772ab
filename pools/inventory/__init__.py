"""Records of clusters, poolers and pools: created, changed, removed and validated."""
