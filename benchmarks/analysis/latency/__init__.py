"""The latency distribution of a run: logged, kept as a histogram, merged over runs."""
