"""Protocols without I/O: bytes in, requests out; answers in, bytes out. The caller owns the socket."""
