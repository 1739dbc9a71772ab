"""Live tests of the documents: their commands are run as a reader runs them."""
