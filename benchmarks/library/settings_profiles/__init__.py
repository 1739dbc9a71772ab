"""Settings profiles: named sets of server settings, checked against a server, put in force for a run and restored."""
