"""What a run loads: an endpoint of a cluster, pooler or foreign server, its datasets and sessions."""
