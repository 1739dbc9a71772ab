"""Live tests of what lies below the apps."""
