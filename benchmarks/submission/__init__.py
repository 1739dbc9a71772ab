"""The way of a run to a worker: aimed, held against ceilings, placed, saved, sent, and what it waits for."""
