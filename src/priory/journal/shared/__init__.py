"""What a machine needs to share a journal with others: the address, and an outbox while it is cut off."""
