"""Programs that the panel starts as processes of their own; they import neither Django nor the rest of the panel."""
