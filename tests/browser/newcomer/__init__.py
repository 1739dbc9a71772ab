"""A newcomer before a whole installation."""
