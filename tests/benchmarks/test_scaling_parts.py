"""What docs/scaling.md stands on: tables of other sizes folded from one, and queues as they are."""

from array import array
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from priory.demo import draw
from priory.features import KINDS, MOST_BITS, Features, Spec, extract
from priory.filter.prepare import Prepared
from priory.lab.examples import Example
from priory.message import parse
from provider import HOUR, NEVER, Costs, Site, arrivals, departures, simulated
from table_sizes import Load, Vocabulary, folded

QUICK = Costs(np.array([0.001]), np.array([0.002]), 0.00001)


@pytest.mark.parametrize("bits", [16, 22, 27])
def test_a_smaller_table_is_the_largest_one_folded(bits: int):
    for drawn in draw(20, seed=3):
        message = parse(drawn.raw)
        own = extract(message, Spec(bits=bits))
        other = folded(extract(message, Spec(bits=MOST_BITS)), bits)
        assert (own.buckets.tolist(), own.offsets.tolist()) == (other.buckets.tolist(), other.offsets.tolist())


def test_n_grams_that_share_a_bucket_are_counted():
    top = 1 << (MOST_BITS - 1)
    mail = [_example(grams=[0, 1 << 20]), _example(grams=[0, top])]
    vocabulary, names = Vocabulary.of(mail)
    assert [vocabulary.n_after(n) for n in (0, 1, 2)] == [0, 2, 3]
    assert Load.of(vocabulary, 1) == Load(used=1.0, shared=2 / 3, shared_in_mail=3 / 4)
    assert Load.of(vocabulary, 8).shared == 0
    assert len(names.features) == 0


def test_names_are_counted_apart_and_share_no_bucket_with_n_grams():
    grams, names = Vocabulary.of([_example(words=[0, 1 << 20], grams=[0]), _example(words=[0], grams=[5])])
    assert (names.n_after(1), names.n_after(2), names.n_messages.tolist()) == (2, 2, [2, 1])
    assert grams.n_after(2) == 2
    assert (names.n_shared(MOST_BITS - 20), names.n_shared(MOST_BITS - 21)) == (0, 2)


def _example(words: Sequence[int] = (), grams: Sequence[int] = ()) -> Example:
    ends = [len(words)] * KINDS.index("source-gram") + [len(words) + len(grams)] * 3
    return Example("", "ham", Prepared(b"", "", Features(array("I", [*words, *grams]), array("q", [0, *ends]))))


def test_a_queue_serves_one_after_the_other():
    chance = np.random.default_rng(2)
    come, taken = np.sort(chance.uniform(0, 50, 200)), chance.exponential(0.3, 200)
    expected, free = [], 0.0
    for at, for_s in zip(come, taken, strict=True):
        free = max(at, free) + for_s
        expected.append(free)
    assert departures(come, taken) == pytest.approx(expected)


def test_a_day_has_the_mail_that_was_said_and_more_by_day():
    site = Site(1000, campaigns=())
    come = arrivals(site, 100_000, 1.0, np.random.default_rng(1))
    hours = np.bincount((come // HOUR).astype(int))
    assert len(come) == pytest.approx(100_000, rel=0.02)
    assert hours[10] > 3 * hours[3]


def test_what_goes_wrong_is_seen_and_nothing_else():
    calm = Site(5_000, 2, 1, lessons_per_user=1.0, campaigns=(), dies=NEVER, away=NEVER, cut=NEVER)
    quiet = simulated(calm, QUICK)
    assert quiet.waits.min() == pytest.approx(0.001, rel=1e-6)
    assert quiet.lesson_waits.max() < 0.05
    assert quiet.lags.max() < calm.throttle_s + 2 * calm.fetch_s
    away = simulated(replace(calm, away=(11.0, 11.1), cut=(14.0, 14.25)), QUICK)
    assert away.lesson_waits.max() == pytest.approx(360, rel=0.1)
    assert away.outbox > quiet.outbox
    assert 800 < away.cut_lag < 901
    assert away.caught_up_s < 0.1
    assert away.lags.max() < calm.throttle_s + 2 * calm.fetch_s


def test_a_writer_that_is_too_slow_is_found_out():
    slow = Costs(QUICK.checks, np.array([5.0]), QUICK.applied)
    assert simulated(Site(1_000_000, messages_per_user=0.1, hours=(9.0, 10.0)), slow).writer_busy > 1
