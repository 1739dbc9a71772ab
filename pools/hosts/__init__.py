"""The hosts of poolers: one interface for all that is done there, whether by this process or by SSH."""
