"""What the panel knows of a PostgreSQL server: how it is asked, where it stands, what follows it, what it spends."""
