"""Why the clients of a pool wait: reads its queue and its server's sessions, and names the cause."""
