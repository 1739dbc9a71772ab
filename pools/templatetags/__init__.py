"""Template tags of the pages of pools."""
