"""The PostgreSQL that a run is aimed at: its address, the tables of load programs, the run's sessions."""
