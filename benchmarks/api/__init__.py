"""The REST API of benchmarks."""
