"""What a filter has learned: a journal and its counts, changed together; how lessons come, and how they go."""
