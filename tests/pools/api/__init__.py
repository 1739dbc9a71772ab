"""Tests of the REST API of pools."""
