"""Mail on somebody else's server: watches folders over IMAP and learns from what their owner moves.

`sightings` decides, without clock, disk or socket; `store` remembers; `session` talks to the server; `watch` has the
three meet. Needs imapclient, the extra `imap`.
"""
