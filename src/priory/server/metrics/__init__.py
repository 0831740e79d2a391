"""What the daemon counts: in memory that its processes share, and over time in the history file."""
