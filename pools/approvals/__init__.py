"""Four-eyes: acts on a protected cluster wait for a second person, who approves exactly what was asked for."""
