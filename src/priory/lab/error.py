"""The error of the workbench."""


class LabError(Exception):
    """Raised when the mail, the model or the request does not allow a valid evaluation; the text says why."""
