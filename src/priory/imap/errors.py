"""What can be wrong with a mailbox."""


class MailboxError(Exception):
    """Something that only a person can put right; the text says what, and what to do."""
