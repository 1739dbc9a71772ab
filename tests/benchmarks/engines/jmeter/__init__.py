"""Tests of JMeter as an engine."""
