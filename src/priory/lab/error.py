"""Says why a classifier cannot be judged as asked, and what to do about it."""


class LabError(Exception):
    """Something about the mail, the model or the question makes an honest answer impossible; the text says what."""
