"""Teams, their members, and people: what owners and administrators do with them, on pages and over the API."""
