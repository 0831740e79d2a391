"""Whether to believe an error rate, given how it was obtained."""

from priory.lab.trust.claim import ErrorClaim
from priory.lab.trust.credibility import Believe, Judgement, judgement, winner_trust

__all__ = ["Believe", "ErrorClaim", "Judgement", "judgement", "winner_trust"]
