"""Leaves that every app may use: environment, encryption, server-sent events, addresses."""
