"""Help to choose a kind of pooler and a pool mode, and advice on what a client should change."""
