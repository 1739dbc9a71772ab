"""The second factor of a login: authenticator apps, recovery codes, and passkeys, which also work alone."""
