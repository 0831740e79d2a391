"""Protocols without I/O: bytes in, requests out; answers in, bytes out. Who owns the socket is elsewhere."""
