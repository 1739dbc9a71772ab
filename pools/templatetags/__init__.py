"""Tags of the pages of pools."""
