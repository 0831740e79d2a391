"""Splits of mail into training and test parts, with copies, threads and senders on one side.

>>> from priory.lab.splits import folds, joined, near_duplicates, threads
>>> from priory.features.vectorizer import MailVectorizer
>>> from priory.message import parse
>>> mail = [b"Message-ID: <%d@a.example>\\n\\n%s" % (n, b"Lunch?" if n % 3 else b"You won!") for n in range(30)]
>>> y = ["ham" if n % 3 else "spam" for n in range(30)]
>>> rows = MailVectorizer(kinds=("word", "pair")).transform(mail)
>>> together = joined(near_duplicates(rows), threads(map(parse, mail)))
>>> int(together.max()) + 1
2
>>> folds(y, n_folds=2, groups=together, grouping="copies")
Traceback (most recent call last):
priory.lab.error.LabError: ham is in 1 of 2 groups, too few for 2 folds: more ham is needed
"""

from priory.lab.splits.folds import Folds
from priory.lab.splits.groups import joined, threads
from priory.lab.splits.methods import How, folds
from priory.lab.splits.near_duplicates import near_duplicates

__all__ = ["Folds", "How", "folds", "joined", "near_duplicates", "threads"]
