"""What a machine needs to share a journal with others: the address, an outbox while it is cut off, and tombstones."""
