"""The stream of the trail to syslog and to a webhook: every entry, in order, at least once."""
