"""Shared parts of the REST API: pagination, errors, filters, parsers, schema."""
