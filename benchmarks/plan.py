"""Computes what a family, a university and a large provider need from the measured constants.

    export PRIORY_CORPORA=~/.cache/priory-corpora
    python benchmarks/constants.py && python benchmarks/shared_journal.py   # first, on machines like those planned
    python benchmarks/plan.py

The amount of mail and the number of lessons per person are assumptions, in `SITES`; everything else follows from them
and from measured constants. `provider.py` simulates a day.
"""

import math
from dataclasses import dataclass

from priory.bayes import Counts
from priory.bayes.counts import CountsShape
from priory.features import MOST_BITS, Spec
from priory.journal.lesson import PERSONAL_BITS
from provider import DAY, Costs, Site
from report import Table

#: Of trec07p: distinct n-grams and names of n lessons, K · n^b, by `table_sizes.py`; the bytes of a lesson with 2^22
#: buckets, in SQLite by `constants.py` and in PostgreSQL by `shared_journal.py`, there for each bit more, too.
GRAMS, NAMES = (969, 0.769), (482, 0.812)
SQLITE_BYTES, POSTGRESQL_BYTES, BYTES_PER_BIT = 2_990, 3_370, 229
#: Rows that a lesson takes among those of persons who teach little, and their bytes with two labels; how many distinct
#: ones may share a row: `personal_table.py`.
OWN_ROWS, OWN_ROW_BYTES, MOST_PER_ROW = 13.4, 8, 0.25
MOST_PER_BUCKET = 4.0  #: distinct n-grams, up to which accuracy is hardly less: docs/scaling.md
BUSY = 0.5  #: share of a core's time that is planned with in the busiest minute
CORES = 8  #: of a node


@dataclass(frozen=True)
class Plan:
    """The resources that users of one journal need."""

    name: str
    site: Site
    journals: int  #: that the users are spread over
    days: float  #: that lessons are kept

    @property
    def lessons(self) -> float:
        """The number of stored lessons."""
        return self.site.users * self.site.lessons_per_user * self.days

    def distinct(self, law: tuple[float, float]) -> float:
        """Return the number of distinct features of all lessons, by Heaps' law."""
        k, exponent = law
        return k * self.lessons**exponent

    @property
    def bits(self) -> int:
        """The bits of the table, so that not too many n-grams share a bucket."""
        enough = math.ceil(math.log2(self.distinct(GRAMS) / MOST_PER_BUCKET))
        return min(max(Spec().bits, enough), MOST_BITS)

    @property
    def shape(self) -> CountsShape:
        """The sizes of the counts; at most two thirds of the homes of the table of names are taken."""
        n_names = math.ceil(self.distinct(NAMES))
        return CountsShape(self.bits, 2, name_bits=(3 * n_names - 1).bit_length() - 1, n_names=n_names)

    @property
    def table_bytes(self) -> int:
        """The bytes of the counts, on disk and in the shared memory of each node."""
        return Counts.size_bytes(self.shape, with_personal=False)

    @property
    def own_bits(self) -> int:
        """The bits of the table of personal counts, if every lesson has such counts."""
        return max(PERSONAL_BITS, math.ceil(math.log2(OWN_ROWS * self.lessons / MOST_PER_ROW)))

    @property
    def row_bytes(self) -> float:
        """The bytes of a lesson in the journal."""
        least = SQLITE_BYTES if self.site.nodes == 1 else POSTGRESQL_BYTES
        return least + BYTES_PER_BIT * (self.bits - Spec().bits)

    @property
    def messages_per_s(self) -> float:
        """Messages per second in the busiest hour during a spam campaign."""
        return self._at_most(self.site.messages_per_user) * (1 + self.site.campaign_share)

    @property
    def lessons_per_s(self) -> float:
        """Lessons per second in the busiest hour during a spam campaign."""
        return self._at_most(self.site.lessons_per_user) * self.site.campaign_lessons

    def _at_most(self, per_user: float) -> float:
        return self.site.users * per_user / 86_400 * max(DAY) / (sum(DAY) / len(DAY))

    def cores(self, costs: Costs) -> float:
        """The cores of all nodes of a journal together."""
        return self.messages_per_s * float(costs.checks.mean()) / BUSY

    def nodes(self, costs: Costs) -> int:
        """The number of nodes, with one spare; a home has one node and no spare."""
        return 1 if self.site.nodes == 1 else max(1, math.ceil(self.cores(costs) / CORES)) + 1

    def row(self, costs: Costs) -> list[str]:
        """Return the plan as a column of a table."""
        nodes = self.nodes(costs)
        return [
            f"{self.site.users:,}",
            f"{self.journals:,}",
            f"{self.messages_per_s:,.2g}" if self.messages_per_s < 10 else f"{self.messages_per_s:,.0f}",
            f"{self.lessons_per_s:,.2g}" if self.lessons_per_s < 10 else f"{self.lessons_per_s:,.0f}",
            f"{self.lessons:,.0f}",
            f"{_rounded(self.lessons * self.row_bytes)}",
            f"{self.distinct(GRAMS):,.0f}",
            f"2^{self.bits}",
            f"{self.distinct(GRAMS) / 2**self.bits:.1f}",
            f"{self.shape.n_names:,}",
            _rounded(self.table_bytes),
            f"2^{self.own_bits}",
            _rounded(OWN_ROW_BYTES << self.own_bits),
            f"{self.cores(costs):.2g}",
            f"{nodes}",
            f"{self.lessons_per_s * costs.lessons.mean():.1%}",
            _rounded(self.lessons_per_s * self.row_bytes * (nodes - 1)) + "/s",
            f"{self.lessons_per_s * costs.applied:.2%}",
        ]


ROWS = (
    "users of a journal",
    "journals",
    "messages/s, at most",
    "lessons/s, at most",
    "lessons kept",
    "journal",
    "distinct n-grams",
    "buckets",
    "n-grams a bucket",
    "names",
    "tables, in each node",
    "rows of persons",
    "table of persons, in each node",
    "cores",
    f"nodes of {CORES} cores",
    "writer busy, at most",
    "read from the database, at most",
    "a core's time to follow, at most",
)
SITES = (
    Plan("family", Site(5, nodes=1, lessons_per_user=1.0), journals=1, days=3_650),
    Plan("university", Site(50_000, messages_per_user=60.0, lessons_per_user=0.1), journals=1, days=365),
    Plan("provider, one journal", Site(10_000_000), journals=1, days=90),
    Plan("provider, ten journals", Site(1_000_000), journals=10, days=90),
)


def _rounded(size_bytes: float) -> str:
    """Write bytes with two digits.

    >>> _rounded(134_000_000), _rounded(9.4e10), _rounded(5_400)
    ('130 MB', '94 GB', '5.4 kB')
    """
    power = min(max(int(math.log10(max(size_bytes, 1)) // 3), 1), 4)
    value = float(f"{size_bytes / 1000**power:.2g}")
    return f"{value:g} {' kMGT'[power]}B"


def main() -> None:
    costs = Costs.measured()
    columns = [plan.row(costs) for plan in SITES]
    rows = [[name, *values] for name, *values in zip(ROWS, *columns, strict=True)]
    print(Table("plan", "What they need", ["", *(plan.name for plan in SITES)], rows).as_text())


if __name__ == "__main__":
    main()
