"""HAProxy as a kind of pooler."""
