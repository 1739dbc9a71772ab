"""Who may do what: users, API tokens and their scopes."""
