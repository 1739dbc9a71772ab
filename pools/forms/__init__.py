"""Forms of the pages on clusters, poolers and pools."""
