"""The words of the generative model, as tables: ham topics and spam campaigns by language.

Both labels talk of invoices, loans, offers, watches and mailboxes; only the proportions differ.
"""

from ..grammar import odds
from . import eastern, goods, home, money, notices, western, work

ENGLISH_HAM = work.TOPICS + home.TOPICS + notices.TOPICS
ENGLISH_SPAM = goods.TOPICS + money.TOPICS

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
    **{language: odds((topic, topic.weight)) for language, topic in (western.HAM | eastern.HAM).items()},
}
SPAM = {
    "english": ENGLISH_SPAM,
    **{language: (topic,) for language, topic in (western.SPAM | eastern.SPAM).items()},
}
