"""What pools do, live and over time: one look at a console for all, minutes kept, events raised, Prometheus served."""
