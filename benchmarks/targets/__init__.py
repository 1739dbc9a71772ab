"""What a run loads: an endpoint of a cluster, pooler or external server, with its datasets and sessions."""
