"""The audit trail of a whole panel whose processes are killed while people and programs act."""
