"""The daemon: `priory serve`. Who listens and who uses asyncio is here and nowhere else.

A master binds the listeners and forks workers, one per core. Each worker opens the filter for itself, takes connections
from the listeners that all share, and answers them in one event loop. docs/decisions/serve.md says why.
"""
