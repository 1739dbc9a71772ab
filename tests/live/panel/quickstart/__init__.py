"""Live tests of panel/quickstart."""
