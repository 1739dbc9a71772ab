"""pgbench: its options, its command line, and the parsing of all that it prints."""
