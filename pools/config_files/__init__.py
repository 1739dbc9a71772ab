"""Which worker owns a pooler's folder of configuration files."""
