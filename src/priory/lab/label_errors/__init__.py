"""Labels that look wrong, for a person to confirm."""

from priory.lab.label_errors.wrong_labels import Suspect, Suspects, suspects

__all__ = ["Suspect", "Suspects", "suspects"]
