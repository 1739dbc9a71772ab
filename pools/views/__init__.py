"""The pages of clusters, poolers and pools."""
