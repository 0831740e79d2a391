"""Mailboxes on other servers: watches folders over IMAP and learns from the messages that their owner moves.

`sightings` decides, without clock, disk or socket; `store` remembers; `session` talks to the server; `watch` connects
the three. Needs imapclient, which the extra `imap` installs.
"""
