"""How the latencies of a run are spread: logged while it is on, kept as a histogram, merged over runs."""
