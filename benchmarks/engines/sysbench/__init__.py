"""sysbench: its OLTP scripts, and tpcc where the folder of its scripts is given."""
