"""Registered PostgreSQL clusters: connecting, topology, health, replication and activity."""
