"""Live and recorded figures of pools: console snapshots, minutes, events, alerts and Prometheus metrics."""
