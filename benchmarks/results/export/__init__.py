"""A run as a file: its samples as CSV, its document as JSON, its page as one HTML file."""
