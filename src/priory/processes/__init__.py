"""Processes: forks, worker processes with pipes, and the log."""
