"""An experiment to read and to take away: its chart, and its report as HTML, PDF, CSV and JSON."""
