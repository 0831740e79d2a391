"""The page: what the filter thinks and has learned, for people with a browser."""
