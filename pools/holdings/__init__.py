"""What a cluster holds: databases, roles and their rights, made and dropped live."""
