"""Tests; the tree mirrors the source, with live/, browser/ and bench/ beside it."""
