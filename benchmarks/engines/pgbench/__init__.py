"""pgbench: its options, its command line, and the parsing of its output."""
