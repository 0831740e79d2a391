"""What no classifier can do: err less than the Bayes error, or be the best for every problem."""
