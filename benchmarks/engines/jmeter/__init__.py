"""JMeter: a plan of the operator's, against PostgreSQL or allow-listed hosts."""
