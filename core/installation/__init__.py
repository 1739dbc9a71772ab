"""Ties the metadata database to its home. A copied or restored panel is paused until a person resumes it."""
