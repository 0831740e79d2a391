"""The routes, one module per group. Each has a function that returns a router for a daemon and its filters."""
