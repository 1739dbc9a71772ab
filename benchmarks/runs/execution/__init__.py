"""Executing a run in its worker: started, recorded, finished, or reaped."""
