"""The filter: everything between a parsed message and a verdict, and what it has learned."""
