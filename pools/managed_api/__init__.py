"""The managed-database API under /v2/: the wire format of a provider's tools over the verbs of `pools`."""
