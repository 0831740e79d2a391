"""Results on several cores are those of one."""

import os
from pathlib import Path

import pytest

from mail_formats import mail_in_every_form, state
from priory.bulk.local import NICENESS, checked, read_ahead
from priory.corpus import Corpus, CorpusError, Labelled, read, read_index
from priory.filter.filter import Filter
from priory.filter.options import Options
from priory.filter.verdict import Verdict
from priory.journal import JournalError


@pytest.fixture(scope="module")
def inbox(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return mail_in_every_form(tmp_path_factory.mktemp("inbox"))


@pytest.fixture(scope="module")
def home(inbox: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    learn(read_index(inbox / "index"), home, 1)
    return home


def learn(corpus: Corpus, home: Path, jobs: int) -> list[tuple[str, str]]:
    with Filter.open(home) as filter_, read_ahead(corpus, filter_, jobs) as lessons:
        return [(each.outcome, each.digest) for group in filter_.learn_many(lessons) for each in group]


def line(verdict: Verdict, message: Labelled) -> str:
    return f"{message.source} {verdict.label} {verdict.log_odds!r}\n"


def as_json(verdict: Verdict, message: Labelled) -> str:
    return f"{message.source} {verdict.to_json()}\n"


def told(corpus: Corpus, home: Path, jobs: int, tell=line) -> tuple[str, int, str]:
    with checked(corpus, home, Options(), tell, jobs) as results:
        each = list(results)
    return "".join(e.text for e in each), sum(e.n_messages for e in each), each[-1].reason


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [2, 3])
def test_lessons_are_the_same(inbox: Path, tmp_path: Path, jobs: int):
    for name in ("one", "several"):
        n = 1 if name == "one" else jobs
        done = [learn(read_index(inbox / "index"), tmp_path / name, n)]
        done.append(learn(read([inbox / "files", inbox / "box"], "spam"), tmp_path / name, n))
        if name == "one":
            expected = done
    assert done == expected
    assert len(done[1]) == 300 + 9 + 600 + 70 + 300
    assert state(tmp_path / "several") == state(tmp_path / "one")


@pytest.mark.parametrize("jobs", [2, 3])
@pytest.mark.parametrize("what", ["files", "box", "files/large.mbox", "files/mail.tar", "files/007.eml"])
def test_output_is_the_same(inbox: Path, home: Path, what: str, jobs: int):
    one, several = read([inbox / what], ""), read([inbox / what], "")
    assert told(several, home, jobs) == told(one, home, 1)
    assert several.passed_over == one.passed_over
    assert len(one.passed_over) == {"files": 2, "files/mail.tar": 1}.get(what, 0)


def test_evidence_is_the_same(inbox: Path, home: Path):
    mail = read([inbox / f"files/{i:03}.eml" for i in range(70)], "")
    assert told(mail, home, 2, as_json) == told(mail, home, 1, as_json)


@pytest.mark.corpora
@pytest.mark.parametrize("jobs", [2, 3])
def test_real_mail_gives_the_same(corpora: Path, tmp_path: Path, jobs: int):
    index = corpora / "trec07p" / "full" / "index"
    lines = index.read_text().splitlines(keepends=True)[:2000]
    (tmp_path / "index").write_text("".join(line.replace("../data", str(corpora / "trec07p/data")) for line in lines))
    mail = read_index(tmp_path / "index")
    assert learn(mail, tmp_path / "several", jobs) == learn(mail, tmp_path / "one", 1)
    assert state(tmp_path / "several") == state(tmp_path / "one")
    assert told(mail, tmp_path / "one", jobs) == told(mail, tmp_path / "one", 1)


@pytest.mark.parametrize("jobs", [1, 2])
def test_mail_before_an_unreadable_file_is_processed(inbox: Path, home: Path, tmp_path: Path, jobs: int):
    lines = (inbox / "index").read_text().replace(" files", f" {inbox}/files").splitlines(keepends=True)
    (tmp_path / "index").write_text("".join([*lines[:155], "spam gone.eml\n", *lines[155:]]))
    corpus, got = read_index(tmp_path / "index"), []
    with checked(corpus, home, Options(), line, jobs) as results, pytest.raises(CorpusError) as error:
        got.extend(each.n_messages for each in results)
    assert sum(got) == 155
    wrong = f"{tmp_path}/index:156: there is no file {tmp_path}/gone.eml; restore it or delete this line"
    assert str(error.value) == wrong


@pytest.mark.parametrize("jobs", [1, 2])
def test_mail_before_the_damage_in_an_archive_is_processed(inbox: Path, home: Path, tmp_path: Path, jobs: int):
    (tmp_path / "cut.tar").write_bytes((inbox / "files/mail.tar").read_bytes()[:100_000])
    got = []
    with (
        checked(read(tmp_path / "cut.tar", ""), home, Options(), line, jobs) as results,
        pytest.raises(CorpusError, match=r"cut\.tar is broken"),
    ):
        got.extend(each.text for each in results)
    whole, *_ = told(read(inbox / "files/mail.tar", ""), home, 1)
    assert 10 < len("".join(got).splitlines()) < 70
    assert whole.replace(str(inbox / "files/mail"), str(tmp_path / "cut")).startswith("".join(got))


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_broken_home_is_reported(inbox: Path, tmp_path: Path, jobs: int):
    (tmp_path / "journal.sqlite").write_bytes(b"no database" * 100)
    for mail in (read(inbox / "files", ""), read([], "")):
        with pytest.raises(JournalError):
            told(mail, tmp_path, jobs)


def test_one_core_starts_no_process(inbox: Path, home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os, "fork", lambda: pytest.fail("a process was started"))
    assert told(read(inbox / "files/007.eml", ""), home, 1)[1] == 1


def test_readers_have_a_lower_priority_than_the_learning_process(inbox: Path, home: Path):
    def niceness() -> set[int]:
        children = Path("/proc/thread-self/children").read_text().split()
        return {os.getpriority(os.PRIO_PROCESS, int(child)) for child in children}

    before = niceness()
    with Filter.open(home) as filter_, read_ahead(read_index(inbox / "index"), filter_, jobs=2) as lessons:
        assert len(list(lessons)) > 100
        assert niceness() - before == {min(os.nice(0) + NICENESS, 19)}


def test_readers_work_even_if_they_may_not_change_their_priority(
    inbox: Path, home: Path, monkeypatch: pytest.MonkeyPatch
):
    def forbidden(_by: int) -> int:
        raise PermissionError

    monkeypatch.setattr(os, "nice", forbidden)
    with Filter.open(home) as filter_, read_ahead(read_index(inbox / "index"), filter_, jobs=2) as lessons:
        assert len(list(lessons)) > 100
