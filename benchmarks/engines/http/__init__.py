"""HTTP: a closed loop of requests against the products service or an address of the user's own."""
