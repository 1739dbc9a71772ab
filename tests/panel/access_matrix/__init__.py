"""Who may do what: each method of each address, asked by each caller, is held against the table of operations."""
