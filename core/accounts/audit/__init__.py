"""The audit trail for people: who a request's acts are recorded for, its pages and its API."""
