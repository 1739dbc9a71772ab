"""What is started again by itself: at the times of a cron line, each time at most once."""
