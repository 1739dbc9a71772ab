"""The audit trail: who changed or revealed what, from where and why, as a chain of rows that nobody edits."""
