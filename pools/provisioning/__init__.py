"""Databases, roles, grants and auth_query functions, created and dropped on a cluster."""
