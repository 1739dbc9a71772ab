"""The REST API of clusters, poolers and pools."""
