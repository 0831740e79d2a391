import math
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from counted import bytes_of, has_counted_nothing
from priory.corpus import read_index
from priory.decision import UNSURE, Costs
from priory.demo import Drawn, draw
from priory.features import Spec
from priory.filter.filter import Filter
from priory.filter.options import Options
from priory.filter.verdict import Verdict
from priory.journal import JournalError, ReservedUserError
from priory.message import parse

SMALL = Options(spec=Spec(bits=16))
#: The cost of each verdict for each true label: ham, spam, newsletter.
THREE = Options(Costs(("ham", "spam", "newsletter"), ((0, 10, 3), (100, 0, 50), (20, 5, 0)), 4), Spec(bits=16))
NOTHING = [b"", b"\n", b"\r\n\r\n", b"\0", b"From ", b"Subject:", b"X-Spam-Status: Yes\n\n", b"\xff" * 5]
MAIL = list(draw(160, seed=5))


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filter]:
    with Filter.open(tmp_path_factory.mktemp("taught"), SMALL) as filter_:
        list(filter_.learn_many((drawn.raw, drawn.label, "") for drawn in MAIL[:100]))
        yield filter_


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filter]:
    with Filter.open(tmp_path_factory.mktemp("three"), THREE) as filter_:
        for i, drawn in enumerate(MAIL[:100]):
            is_newsletter = drawn.label == "ham" and b"unsubscribe" in drawn.raw.lower()
            filter_.learn(drawn.raw, "newsletter" if is_newsletter or i in {0, 1} else drawn.label)
        yield filter_


def assert_adds_up(verdict: Verdict) -> None:
    assert math.fsum(verdict.probabilities.values()) == pytest.approx(1, abs=1e-9)
    for claim in verdict.claims.values():
        assert claim.prior + math.fsum(e.term for e in claim.evidence) == pytest.approx(claim.log_odds, abs=1e-9)
        assert claim.probability == pytest.approx(1 / (1 + math.exp(-claim.log_odds)), abs=1e-9)
        assert all(e.feature for e in claim.evidence)
        terms = [abs(e.term) for e in claim.evidence]
        assert terms == sorted(terms, reverse=True)
    costs = verdict.expected_costs
    assert verdict.reason or costs[verdict.label] == min(costs.values())


def home_files(filter_: Filter) -> dict[str, bytes]:
    """Return the files of a home, except SQLite's index of its log, which every reader writes to."""
    return {path.name: path.read_bytes() for path in filter_.home.iterdir() if not path.name.endswith("-shm")}


def test_learning_twice_changes_nothing(tmp_path: Path) -> None:
    with Filter.open(tmp_path, SMALL) as filter_:
        first = filter_.learn(MAIL[0].raw, "ham")
        before, verdict = home_files(filter_), filter_.check(MAIL[1].raw)
        again = filter_.learn(MAIL[0].raw, "ham")
        assert (first.outcome, first.was) == ("learned", None)
        assert (again.outcome, again.was, again.digest) == ("known", "ham", first.digest)
        assert home_files(filter_) == before
        assert filter_.check(MAIL[1].raw) == verdict


def test_the_same_message_in_another_guise_is_known(tmp_path: Path) -> None:
    raw = MAIL[0].raw
    with Filter.open(tmp_path, SMALL) as filter_:
        filter_.learn(raw, "ham")
        for guise in (raw.replace(b"\n", b"\r\n"), b"From a@b.example Mon Jan  6\n" + raw, b"Status: RO\n" + raw):
            assert filter_.learn(guise, "ham").outcome == "known"


def test_relearning_turns_the_verdict(tmp_path: Path) -> None:
    raw = b"From: a@b.example\nSubject: cheap pills\n\nBuy cheap pills now, cheaper than ever.\n"
    with Filter.open(tmp_path, SMALL) as filter_:
        for drawn in MAIL[:20]:
            filter_.learn(drawn.raw, drawn.label)
        filter_.learn(raw, "spam")
        as_spam = filter_.check(raw)
        assert filter_.learn(raw, "ham").outcome == "relearned"
        as_ham = filter_.check(raw)
        assert as_ham.log_odds < 0 < as_spam.log_odds
        assert filter_.learn(raw, "spam").was == "ham"
        assert filter_.check(raw).log_odds == pytest.approx(as_spam.log_odds, abs=0.2)


@pytest.mark.parametrize("seed", range(3))
def test_relearning_many_turns_the_verdicts(tmp_path: Path, seed: int) -> None:
    mail = list(draw(60, seed=seed))
    other = {"ham": "spam", "spam": "ham"}
    with Filter.open(tmp_path, SMALL) as filter_:
        for drawn in mail:
            filter_.learn(drawn.raw, drawn.label)
        before = [filter_.check(drawn.raw).log_odds > 0 for drawn in mail]
        for drawn in mail:
            filter_.learn(drawn.raw, other[drawn.label])
        after = [filter_.check(drawn.raw).log_odds > 0 for drawn in mail]
        assert before == [drawn.label == "spam" for drawn in mail]
        assert after == [not was for was in before]


def test_forgetting_gives_back_the_verdict_from_before(tmp_path: Path) -> None:
    with Filter.open(tmp_path, SMALL) as filter_:
        for drawn in MAIL[:30]:
            filter_.learn(drawn.raw, drawn.label)
        before = filter_.check(MAIL[50].raw)
        learned = filter_.learn(MAIL[50].raw, "spam")
        assert filter_.check(MAIL[50].raw) != before
        assert filter_.forget_digest(bytes.fromhex(learned.digest)).was == "spam"
        assert filter_.check(MAIL[50].raw) == before


def test_forgetting_an_unknown_message_says_so(tmp_path: Path) -> None:
    with Filter.open(tmp_path, SMALL) as filter_:
        digest = filter_.learn(MAIL[0].raw, "ham").digest
        unknown = parse(MAIL[1].raw).digest
        assert filter_.forget(MAIL[1].raw) == ("unknown", unknown.hex(), None)
        assert filter_.forget_digest(unknown) == ("unknown", unknown.hex(), None)
        assert filter_.forget(b"").was is None
        assert filter_.forget(MAIL[0].raw) == ("forgotten", digest, "ham")
        assert filter_.forget(MAIL[0].raw) == ("unknown", digest, None)


def test_a_message_and_its_digest_name_the_same_users(tmp_path: Path) -> None:
    with Filter.open(tmp_path, SMALL) as filter_:
        for user in ("bob", "", "ada"):
            filter_.learn(MAIL[0].raw, "ham", user=user)
        digest = parse(MAIL[0].raw).digest
        assert filter_.taught_by(MAIL[0].raw) == filter_.taught_by_digest(digest) == ["", "ada", "bob"]
        assert filter_.taught_by(digest) == []  # a digest is not a message
        assert filter_.forget(digest).outcome == "unknown"


def test_a_check_loads_nothing_that_only_learning_or_looking_needs(tmp_path: Path) -> None:
    code = "import sys; from priory import Filter; Filter.open(sys.argv[1]).check(b'Subject: hi'); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True, check=True)
    late = "evidence explanation forget learn lessons offline predictions rescore retention stats users"
    loaded = set(done.stdout.split())
    assert "priory.filter.judge" in loaded
    assert loaded.isdisjoint({"numpy", "psycopg", *(f"priory.filter.{name}" for name in late.split())})


def test_a_message_as_long_as_a_digest_can_be_forgotten(tmp_path: Path) -> None:
    raw = b"Subject: hello\n\nsee you at noon."
    assert len(raw) == 32
    with Filter.open(tmp_path, SMALL) as filter_:
        filter_.learn(raw, "ham")
        assert filter_.forget(raw).was == "ham"


def test_each_user_has_lessons_of_their_own(tmp_path: Path) -> None:
    with Filter.open(tmp_path, SMALL) as filter_:
        assert filter_.learn(MAIL[0].raw, "ham", user="ada").outcome == "learned"
        assert filter_.learn(MAIL[0].raw, "spam", user="bob").outcome == "learned"
        assert filter_.forget(MAIL[0].raw).was is None
        assert filter_.forget(MAIL[0].raw, user="ada").was == "ham"
        assert filter_.stats().lessons == {"ham": 0, "spam": 1}


def test_a_message_twice_in_one_group_is_learned_once(tmp_path: Path) -> None:
    lessons = [(MAIL[0].raw, "ham", ""), (MAIL[0].raw, "ham", ""), (MAIL[0].raw, "spam", "")]
    with Filter.open(tmp_path, SMALL) as filter_:
        (done,) = filter_.learn_many(lessons)
        assert [learned.outcome for learned in done] == ["learned", "known", "relearned"]
        assert filter_.stats().lessons == {"ham": 0, "spam": 1}


def test_learning_one_by_one_and_in_bulk_gives_the_same_counts(tmp_path: Path, taught: Filter) -> None:
    with Filter.open(tmp_path, SMALL) as filter_:
        for drawn in MAIL[:100]:
            filter_.learn(drawn.raw, drawn.label)
        for drawn in MAIL[100:120]:
            one, bulk = filter_.check(drawn.raw), taught.check(drawn.raw)
            assert one == bulk


def test_a_folder_of_ham_and_then_a_folder_of_spam_give_scores_of_both(tmp_path: Path) -> None:
    with Filter.open(tmp_path, SMALL) as filter_:
        for label in ("ham", "spam"):
            list(filter_.learn_many((drawn.raw, label, "") for drawn in MAIL if drawn.label == label))
        counts = filter_._counts.counts
        before = bytes_of(counts)
        assert min(counts.n_scored()) > 20
        assert sorted(lesson.digest for lesson in filter_.journal.lessons()) == sorted(
            parse(drawn.raw).digest for drawn in MAIL
        )
        filter_.rebuild()
        assert bytes_of(filter_._counts.counts) == before
        for drawn in MAIL:
            assert filter_.forget(drawn.raw).was == drawn.label
        assert has_counted_nothing(filter_._counts.counts)


def test_the_stored_name_of_automatic_lessons_is_no_name_of_a_user(tmp_path: Path) -> None:
    with Filter.open(tmp_path, SMALL) as filter_:
        filter_.learn(MAIL[0].raw, "ham", user="auto")
        with pytest.raises(ReservedUserError, match=r"'\\tauto' cannot be the name of a user.* Use another name"):
            filter_.learn(MAIL[1].raw, "ham", user="\tauto")
        with pytest.raises(ReservedUserError):
            filter_.forget(MAIL[0].raw, user="\tauto")
        assert filter_.stats().changes == 1
        before = bytes_of(filter_._counts.counts)
        filter_.rebuild()
        assert bytes_of(filter_._counts.counts) == before


def test_an_unknown_label_is_refused_before_anything_is_learned(tmp_path: Path) -> None:
    with Filter.open(tmp_path, SMALL) as filter_:
        with pytest.raises(ValueError, match="unknown label 'junk'; this filter knows ham, spam"):
            list(filter_.learn_many([(MAIL[0].raw, "ham", ""), (MAIL[1].raw, "junk", "")]))
        assert filter_.stats().changes == 0


@pytest.mark.parametrize("drawn", MAIL[90:130:3], ids=lambda drawn: drawn.label)
def test_the_terms_and_the_prior_add_up_to_the_log_odds(taught: Filter, three: Filter, drawn: Drawn) -> None:
    assert_adds_up(taught.check(drawn.raw))
    assert_adds_up(three.check(drawn.raw))


@pytest.mark.parametrize("raw", NOTHING, ids=repr)
def test_a_message_with_nothing_in_it_gets_a_verdict_like_any_other(taught: Filter, three: Filter, raw: bytes) -> None:
    assert_adds_up(taught.check(raw))
    assert_adds_up(three.check(raw))


@pytest.mark.parametrize("raw", NOTHING, ids=repr)
def test_a_message_with_nothing_in_it_can_be_learned_and_forgotten(tmp_path: Path, raw: bytes) -> None:
    with Filter.open(tmp_path, SMALL) as filter_:
        filter_.learn(MAIL[0].raw, "ham")
        filter_.learn(raw, "spam")
        assert_adds_up(filter_.check(raw))
        assert filter_.forget(raw).was == "spam"
        assert filter_.stats().lessons == {"ham": 1, "spam": 0}


def test_with_three_labels_the_verdict_is_about_the_most_probable(three: Filter) -> None:
    for drawn in MAIL[:60]:
        verdict = three.check(drawn.raw)
        assert verdict.probability == max(verdict.probabilities.values())
        assert verdict.thresholds == {}
        assert set(verdict.expected_costs) == {"ham", "spam", "newsletter", UNSURE}
    said = [three.check(drawn.raw).about for drawn in MAIL[2:60]]
    learned = [three.journal.label_of(parse(drawn.raw).digest) for drawn in MAIL[2:60]]
    assert sum(a == b for a, b in zip(said, learned, strict=True)) > 50


def test_a_third_label_without_a_lesson_is_improbable_but_possible(tmp_path: Path) -> None:
    with Filter.open(tmp_path, THREE) as filter_:
        for drawn in MAIL[:60]:
            filter_.learn(drawn.raw, drawn.label)
        verdict = filter_.check(MAIL[70].raw)
        assert not verdict.reason
        assert 0 < verdict.probabilities["newsletter"] < 0.2
        assert_adds_up(verdict)


@pytest.mark.parametrize(
    ("options", "learned", "missing"),
    [
        (SMALL, [], "no ham and no spam"),
        (SMALL, ["ham"], "no spam"),
        (SMALL, ["spam"], "no ham"),
        (THREE, ["spam"], "no ham and no newsletter"),
    ],
)
def test_while_there_is_nothing_to_compare_the_verdict_is_unsure_and_says_why(
    tmp_path: Path, options: Options, learned: list[str], missing: str
) -> None:
    with Filter.open(tmp_path, options) as filter_:
        for i, label in enumerate(learned):
            filter_.learn(MAIL[i].raw, label)
        verdict = filter_.check(MAIL[5].raw)
        assert verdict.label == UNSURE
        assert verdict.reason == f"{missing} has been learned yet"
        assert verdict.headers()[-1] == ("X-Priory-Reason", verdict.reason)
        assert verdict.probability == pytest.approx(1 / len(options.labels))
        assert_adds_up(verdict)


@pytest.mark.slow
def test_checking_is_pure(taught: Filter) -> None:
    for drawn in MAIL[100:110]:
        before = home_files(taught)
        one, two = taught.check(drawn.raw), taught.check(drawn.raw)
        assert one == two
        assert one.evidence == two.evidence
        assert one.to_json() == two.to_json()
        assert taught.explain(drawn.raw).verdict == one
        assert home_files(taught) == before


@pytest.mark.slow
@pytest.mark.parametrize(
    "header",
    [
        b"X-Spam-Status: Yes, score=99\n",
        b"X-Priory-Verdict: ham; spam=0.0001\n",
        b"X-Spam-Flag: YES\nX-Bogosity: Spam,\n tests=bogofilter\n",
        b"x-priory-evidence: word:lunch -9.0\n",
    ],
    ids=lambda header: header.partition(b":")[0].decode(),
)
def test_a_verdict_of_any_filter_in_the_message_never_changes_ours(taught: Filter, header: bytes) -> None:
    for drawn in MAIL[95:120]:
        without = taught.check(drawn.raw)
        lines = drawn.raw.partition(b"\n\n")[0].splitlines(keepends=True)
        last = sum(map(len, lines))
        for at in (0, last):
            marked = drawn.raw[:at] + header + drawn.raw[at:]
            if at == last:
                marked = drawn.raw[:at] + b"\n" + header.rstrip(b"\n") + drawn.raw[at:]
            assert taught.check(marked) == without
            assert taught.check(marked).evidence == without.evidence


def test_our_own_headers_put_on_a_message_do_not_change_its_verdict(taught: Filter) -> None:
    for drawn in MAIL[100:110]:
        verdict = taught.check(drawn.raw)
        ours = "".join(f"{name}: {value}\n" for name, value in verdict.headers()).encode("ascii")
        assert taught.check(ours + drawn.raw) == verdict


@pytest.mark.parametrize(
    "subject",
    [
        b"=?utf-8?q?line=0D=0AX-Injected:_yes?=",
        b"=?utf-8?q?bell=07_null=00_escape=1B[31m_delete=7F?=",
        "Grüße 日本語 🎉".encode(),
        b"=?utf-8?b?4oCu4oCL77u/?= \xff\xfe",
        b"a" * 5000,
        b'"; all else +99.000; \\n',
    ],
    ids=["newline", "control", "non-ASCII", "invisible", "long", "quotes"],
)
def test_headers_are_printable_ascii_on_one_line_for_hostile_subjects(tmp_path: Path, subject: bytes) -> None:
    raw = b"From: a@b.example\nSubject: " + subject + b"\n\n" + subject + b"\n"
    with Filter.open(tmp_path, SMALL) as filter_:
        filter_.learn(raw, "spam")
        filter_.learn(MAIL[0].raw, "ham")
        for name, value in filter_.check(raw).headers():
            assert f"{name}: {value}".isascii()
            assert value.isprintable()
            assert len(f"{name}: {value}") < 998


def test_options_can_change_without_relearning(tmp_path: Path) -> None:
    with Filter.open(tmp_path, SMALL) as filter_:
        for drawn in MAIL[:40]:
            filter_.learn(drawn.raw, drawn.label)
        before = filter_.check(MAIL[50].raw)
    smoother = Options(spec=Spec(bits=16), smoothing=1.0, costs=Costs(unsure=0))
    with Filter.open(tmp_path, smoother) as filter_:
        after = filter_.check(MAIL[50].raw)
        assert after.log_odds != before.log_odds
        assert after.label == UNSURE
        assert_adds_up(after)


def test_a_journal_keeps_the_number_of_buckets_it_was_made_with(tmp_path: Path) -> None:
    with Filter.open(tmp_path, SMALL) as filter_:
        filter_.learn(MAIL[0].raw, "ham")
    with Filter.open(tmp_path, Options(spec=Spec(bits=20))) as filter_:
        filter_.learn(MAIL[1].raw, "spam")
        assert filter_.stats().buckets == 1 << 16


def test_a_home_that_is_a_file_is_named(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.write_text("not a folder")
    with pytest.raises(JournalError) as caught:
        Filter.open(home)
    assert str(caught.value) == f"{home} cannot be made: File exists. Name another home."


def test_mail_it_has_not_seen_is_mostly_judged_right(taught: Filter) -> None:
    said = [(taught.check(drawn.raw).label, drawn.label) for drawn in MAIL[100:]]
    assert sum(label == truth for label, truth in said) > 0.75 * len(said)
    assert sum(label == "spam" for label, truth in said if truth == "ham") <= 1


@pytest.mark.corpora
def test_real_mail_adds_up_and_is_forgotten_exactly(tmp_path: Path, corpora: Path) -> None:
    mail = [each for i, each in enumerate(read_index(corpora / "spamassassin" / "index")) if i % 30 == 0]
    with Filter.open(tmp_path, SMALL) as filter_:
        list(filter_.learn_many((each.raw, each.label, "") for each in mail))
        for each in mail[:100]:
            assert_adds_up(filter_.check(each.raw))
        for each in mail:
            filter_.forget(each.raw)
        assert has_counted_nothing(filter_._counts.counts)
