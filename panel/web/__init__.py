"""The way of a request through the web process: refused beyond its capacity, else served by one thread in one hop."""
