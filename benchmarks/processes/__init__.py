"""The processes of load programs: how one is started, as whom, and in which folder."""
