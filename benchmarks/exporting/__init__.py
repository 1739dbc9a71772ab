"""A run as a file to take away: its samples as CSV, all that is known of it as JSON, its page as one HTML file."""
