"""The series of a run as its charts and sparklines draw them."""
