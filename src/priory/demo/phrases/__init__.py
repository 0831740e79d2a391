"""The words of the generative model in tables: ham topics and spam campaigns, by language.

Both labels mention invoices, loans, offers, watches and mailboxes; only the proportions differ.
"""

from priory.demo.grammar import odds
from priory.demo.phrases import correspondence, notices, other_languages, spam

ENGLISH_HAM = correspondence.TOPICS + notices.TOPICS
ENGLISH_SPAM = spam.TOPICS

LANGUAGE = odds(
    ("english", 85),
    ("german", 3.5),
    ("french", 2.5),
    ("spanish", 2.5),
    ("russian", 2.5),
    ("japanese", 2),
    ("chinese", 2),
)
HAM = {
    "english": odds(*((topic, topic.weight) for topic in ENGLISH_HAM)),
    **{language: odds((topic, topic.weight)) for language, topic in other_languages.HAM.items()},
}
SPAM = {
    "english": ENGLISH_SPAM,
    **{language: (topic,) for language, topic in other_languages.SPAM.items()},
}
