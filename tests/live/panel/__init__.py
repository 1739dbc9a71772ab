"""Live tests of panel."""
