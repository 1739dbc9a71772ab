"""Live tests of panel/upgrade."""
