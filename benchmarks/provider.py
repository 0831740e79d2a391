"""Simulates a day of a large mail provider, to test whether the figures of docs/scaling.md hold together.

    export PRIORY_CORPORA=~/.cache/priory-corpora
    python benchmarks/constants.py && python benchmarks/shared_journal.py   # first, on machines like those planned
    python benchmarks/provider.py [--users 1000000] [--nodes 2] [--workers 8]
    python benchmarks/provider.py --grow --nodes 9                          # ever more users on one journal

Mail arrives at random, more by day than by night, with two spam campaigns on top. Each node gets its share, and each of
its workers checks one message after the other, in the measured time of real checks. People teach at random, ten times
as often during a campaign. All lessons pass through one writer, the database. Followers fetch new lessons when they are
notified, at most once per throttle interval. During the day a node fails, the database is down for a minute, and one
node is cut off from it. Waiting times are exact for the drawn events (Lindley's recursion); they are a little too long,
because a simulated worker does not take messages from another's queue.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from constants import JSON
from report import Table

Times = NDArray[np.float64]
HOUR = 3600.0
#: Mail in each hour of a day over that in a mean hour, as servers of an office see it: nights are a third of the noon.
DAY = (0.5, 0.45, 0.4, 0.4, 0.45, 0.55, 0.8, 1.1, 1.5, 1.75, 1.8, 1.7, 1.6, 1.6, 1.65, 1.6, 1.5, 1.3, 1.1, 0.95, 0.85)
DAY += (0.75, 0.65, 0.55)
NEVER = (0.0, 0.0)


@dataclass(frozen=True)
class Costs:
    """Durations in seconds, as `constants.py` and `shared_journal.py` measured them."""

    checks: Times  #: processor time of a message in the daemon, many draws of it
    lessons: Times  #: the writer's time of a lesson
    applied: float  #: of a lesson that a follower takes in

    @classmethod
    def measured(cls) -> "Costs":
        """Read the measured constants."""
        figures = json.loads(JSON.read_text()) if JSON.is_file() else {}
        if not {"check_s", "shared_lesson_s"} <= figures.keys():
            sys.exit("First run benchmarks/constants.py and benchmarks/shared_journal.py")
        checks, lessons = np.array(figures["check_s"]), np.array(figures["shared_lesson_s"])
        return cls(checks * figures["served_s"] / checks.mean(), lessons, figures["shared_applied_s"])


@dataclass(frozen=True)
class Site:
    """The users of a journal, their behaviour, and the nodes that serve them."""

    users: int
    nodes: int = 4  #: two at least, as one dies
    workers: int = 4
    messages_per_user: float = 40.0  #: in a day, spam included
    lessons_per_user: float = 0.05  #: in a day
    throttle_s: float = 0.2  #: least seconds between two fetches of a follower
    fetch_s: float = 0.003  #: seconds to fetch new lessons
    hours: tuple[float, float] = (0.0, 24.0)
    campaigns: tuple[float, ...] = (9.5, 13.25)  #: hours at which one begins
    campaign_s: float = 600.0
    campaign_share: float = 2.0  #: mail of a campaign over all other mail
    campaign_lessons: float = 10.0  #: lessons in a campaign over those at other times
    dies: tuple[float, float] = (9.25, 9.75)  #: hours in which the first node is gone,
    away: tuple[float, float] = (11.0, 11.0 + 1 / 60)  #: the database is,
    cut: tuple[float, float] = (14.0, 14.25)  #: and the second node is cut off from it

    def rates(self, per_day: float, in_campaign: float) -> tuple[Times, Times]:
        """Return the ends of the minutes in seconds, and the mean number of events in each."""
        ends = np.arange(self.hours[0] * HOUR, self.hours[1] * HOUR + 1, 60.0)
        middles = (ends[:-1] + 30.0) / HOUR
        rate = per_day / 1440 * np.interp(middles, np.arange(24) + 0.5, DAY, period=24) / np.mean(DAY)
        for begin in self.campaigns:
            rate = np.where((middles >= begin) & (middles < begin + self.campaign_s / HOUR), rate * in_campaign, rate)
        return ends, rate


def arrivals(site: Site, per_day: float, in_campaign: float, chance: Generator) -> Times:
    """Draw the times of events, in order."""
    ends, rate = site.rates(per_day, in_campaign)
    minutes = np.repeat(ends[:-1], chance.poisson(rate))
    return np.sort(minutes + chance.uniform(0, 60.0, len(minutes)))


def departures(come: Times, taken: Times) -> Times:
    """Return the departure times of a queue with one server: max(arrival, previous departure) + service time.

    >>> departures(np.array([0.0, 1.0, 10.0]), np.array([3.0, 2.0, 1.0])).tolist()
    [3.0, 5.0, 11.0]
    """
    done = np.cumsum(taken)
    return done + np.maximum.accumulate(come - (done - taken))


@dataclass(frozen=True)
class Seen:
    """The results of a day."""

    site: Site
    n_messages: int
    waits: Times  #: seconds from the arrival of a message to its verdict
    busy: float  #: share of the workers' time, in the busiest minute
    n_lessons: int
    lesson_waits: Times  #: seconds until a lesson is durable
    writer_busy: float  #: share of the writer's time, in the busiest minute
    outbox: int  #: lessons that waited for the database, at most
    lags: Times  #: seconds from a durable lesson until a node has it,
    cut_lag: float  #: and the longest of the node that was cut off
    caught_up_s: float  #: after the cut
    read_per_s: float  #: lessons that all followers fetch in a second of the busiest minute


def simulated(site: Site, costs: Costs, seed: int = 1) -> Seen:
    """Simulate a day."""
    chance = np.random.default_rng(seed)
    come = arrivals(site, site.users * site.messages_per_user, 1 + site.campaign_share, chance)
    waits, busy = _checked(site, costs, come, chance)
    taught = arrivals(site, site.users * site.lessons_per_user, site.campaign_lessons, chance)
    durable, writer_busy, outbox = _written(site, costs, taught, chance)
    lags = np.concatenate([_lags(site, costs, durable, NEVER) for _ in range(site.nodes - 1)])
    cut_lags = _lags(site, costs, durable, site.cut)
    during = (durable >= site.cut[0] * HOUR) & (durable < site.cut[1] * HOUR)
    caught_up = (durable + cut_lags)[during].max(initial=site.cut[1] * HOUR) - site.cut[1] * HOUR
    return Seen(
        site, len(come), waits, busy, len(taught), durable - taught, writer_busy, outbox, lags,
        cut_lags.max(initial=0.0), caught_up, site.nodes * _busiest(durable, 60.0) / 60.0,
    )  # fmt: skip


def _checked(site: Site, costs: Costs, come: Times, chance: Generator) -> tuple[Times, float]:
    """Send each message to a living node, and there to one of its workers."""
    node = chance.integers(0, site.nodes, len(come))
    is_gone = (come >= site.dies[0] * HOUR) & (come < site.dies[1] * HOUR)
    node = np.where(is_gone & (node == 0), chance.integers(1, site.nodes, len(come)), node)
    worker = node * site.workers + chance.integers(0, site.workers, len(come))
    taken = chance.choice(costs.checks, len(come))
    waits = np.empty(len(come))
    for each in range(site.nodes * site.workers):
        own = worker == each
        waits[own] = departures(come[own], taken[own]) - come[own]
    minutes = np.bincount((come // 60).astype(int), taken)
    return waits, float(minutes.max() / (60 * site.workers * site.nodes))


def _written(site: Site, costs: Costs, taught: Times, chance: Generator) -> tuple[Times, float, int]:
    """Queue all lessons at one writer; an outage of it is modelled as a very long lesson."""
    taken = chance.choice(costs.lessons, len(taught))
    at = int(np.searchsorted(taught, site.away[0] * HOUR))
    begin, end = (hour * HOUR for hour in site.away)
    durable = np.delete(departures(np.insert(taught, at, begin), np.insert(taken, at, end - begin)), at)
    minutes = np.bincount((taught // 60).astype(int), taken)
    waiting = np.arange(1, len(taught) + 1) - np.searchsorted(durable, taught, side="right")
    return durable, float(minutes.max() / 60), int(waiting.max(initial=0))


def _lags(site: Site, costs: Costs, durable: Times, cut: tuple[float, float]) -> Times:
    """Let a follower fetch all new lessons when notified, but not twice within the throttle or while cut off."""
    known, i, free = np.empty(len(durable)), 0, 0.0
    begin, end = (hour * HOUR for hour in cut)
    while i < len(durable):
        start = max(durable[i], free)
        start = end if begin <= start < end else start
        after = int(np.searchsorted(durable, start, side="right"))
        done = start + site.fetch_s + (after - i) * costs.applied
        known[i:after] = done
        i, free = after, max(start + site.throttle_s, done)
    return known - durable


def _busiest(times: Times, span_s: float) -> int:
    return int(np.bincount((times // span_s).astype(int)).max(initial=0))


def rows(seen: Seen) -> list[list[str]]:
    """Return the results of a day, one line per figure."""

    def quantiles(seconds: Sequence[float] | Times) -> str:
        p50, p99, most = 1000 * np.quantile(seconds, [0.5, 0.99, 1.0])
        return f"{p50:,.1f}, {p99:,.1f}, {most:,.0f}"

    return [
        ["messages", f"{seen.n_messages:,}"],
        ["verdict, ms: p50, p99, most", quantiles(seen.waits)],
        ["workers busy in the busiest minute", f"{seen.busy:.1%}"],
        ["lessons", f"{seen.n_lessons:,}"],
        ["lesson durable, ms: p50, p99, most", quantiles(seen.lesson_waits)],
        ["writer busy in the busiest minute", f"{seen.writer_busy:.1%}"],
        ["lessons waiting for the database, at most", f"{seen.outbox:,}"],
        ["follower lag, ms: p50, p99, most", quantiles(seen.lags)],
        ["lessons/s read by all followers, busiest minute", f"{seen.read_per_s:,.0f}"],
        ["longest lag of the node cut off, s", f"{seen.cut_lag:,.1f}"],
        ["it has caught up after, s", f"{seen.caught_up_s:,.2f}"],
    ]


def grown(site: Site, costs: Costs) -> Table:
    """Simulate more and more users of one journal, in the hours with a campaign and failures."""
    columns = ["users", "messages/s", "workers busy", "verdict ms p99", "writer busy", "lesson ms p99", "lag ms p99"]
    lines = []
    for users in (1_000_000, 2_000_000, 5_000_000, 10_000_000, 20_000_000):
        seen = simulated(replace(site, users=users, hours=(9.0, 10.0), dies=NEVER, away=NEVER, cut=NEVER), costs)
        p99 = [f"{1000 * np.quantile(each, 0.99):,.1f}" for each in (seen.waits, seen.lesson_waits, seen.lags)]
        shares = [f"{share:.1%}" for share in (seen.busy, seen.writer_busy)]
        lines.append([f"{users:,}", f"{seen.n_messages / HOUR:,.0f}", shares[0], p99[0], shares[1], *p99[1:]])
    return Table("grow", f"{site.nodes} nodes of {site.workers} workers, 9 to 10 o'clock", columns, lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--users", type=int, default=1_000_000)
    parser.add_argument("--nodes", type=int, default=2)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--grow", action="store_true")
    arguments = parser.parse_args()
    site, costs = Site(arguments.users, arguments.nodes, arguments.workers), Costs.measured()
    if arguments.grow:
        print(grown(site, costs).as_text())
    else:
        title = f"A day of {site.users:,} users on {site.nodes} nodes of {site.workers} workers"
        print(Table("day", title, ["", "seen"], rows(simulated(site, costs))).as_text())


if __name__ == "__main__":
    main()
