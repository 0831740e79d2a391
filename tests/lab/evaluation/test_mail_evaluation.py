"""Mail on the bench: folds that keep what belongs together, the golden rule, leaving one out, reasons, kept reports."""

import importlib
import sys
from itertools import islice

import numpy as np
import pytest

from collected_mail import COLLECTION, INBOX, JUNK
from priory.bayes import BernoulliNB, Counts, PresenceBayes
from priory.decision import Costs
from priory.features import KINDS, unpack_features
from priory.features.vectorizer import MailVectorizer
from priory.filter.options import Options
from priory.filter.scoring import calibrations, scores
from priory.lab.cache import ReportInputs, ResultFolder, digest_of, finished_results, load_report, store_report
from priory.lab.error import LabError
from priory.lab.evaluation.bench import Attempts, Bench, Subject, judge, log_attempts, trust_lines
from priory.lab.evaluation.cross_validation import Task, judged
from priory.lab.evaluation.feedback import Feedback
from priory.lab.evaluation.leave_one_out import leave_one_out
from priory.lab.evaluation.mail_evaluation import MailEvaluation, Split, explain, look, seal_share, without_sealed_mail
from priory.lab.evaluation.mail_replay import replay_source
from priory.lab.examples import Example, Source, examples, lessons
from priory.lab.mail import WAYS, Mail, copies, mail_folds
from priory.lab.models import JOURNAL_SPLITS, MODELS
from priory.lab.models.filter_classifier import FilterClassifier, rows_of, taught_filter
from priory.lab.models.registry import model_named, model_without
from priory.lab.predictions import Predictions
from priory.lab.run import Mistake, Reason, Run, Weight
from priory.lab.test_set import Sealed
from priory.native.table import bits_of_names

OPTIONS = Options()


def task_of(mail: Mail, **how) -> Task:
    return Task.of(mail.X, mail.labels, mail_folds(mail, n_folds=3, seed=1, **how), OPTIONS.labels, mail.names)


# the matrix


def test_the_matrix_is_that_of_the_vectorizer_without_its_empty_columns(inbox, mail):
    whole = MailVectorizer().transform([message.raw for message in inbox])
    assert (whole[:, mail.columns] != mail.X).nnz == 0
    assert whole.nnz == mail.X.nnz
    assert {KINDS[kind] for kind in mail.kinds} >= {"word", "pair", "header", "source-gram"}


def test_a_journal_gives_the_same_matrix_as_the_mail(inbox, mail):
    prepared = (example.message for example in examples(inbox, OPTIONS.spec))
    with taught_filter(prepared, mail.labels, OPTIONS) as filter_:
        kept = Mail.of(lessons(filter_.journal))
    order = [kept.digests.index(digest) for digest in mail.digests]
    assert (kept.take(order).X != mail.X).nnz == 0
    assert kept.take(order).labels == mail.labels
    assert sorted(kept.labels) == sorted(mail.labels)


def test_no_mail_is_named():
    with pytest.raises(LabError, match="there is no mail to judge by"):
        Mail.of([])


# folds


@pytest.mark.parametrize("by", ["stratified", "k-fold", "random", "time", "sender"])
def test_near_copies_are_never_on_both_sides(mail, by):
    doubled = Mail.of(_examples_twice(mail))
    groups = copies(doubled)
    for train, test in mail_folds(doubled, by, 3, seed=1):
        assert not set(groups[train]) & set(groups[test])


def _examples_twice(mail: Mail):
    """Sixty messages, each followed by a copy."""
    rows = islice(rows_of(mail.X, mail.columns, mail.bits), 60)
    for number, row in enumerate(rows):
        yield Example(f"{number}", mail.labels[number], row)
        yield Example(f"{number}, again", mail.labels[number], row)


def test_by_sender_no_domain_is_on_both_sides(mail):
    senders = np.array(mail.senders)
    for train, test in mail_folds(mail, "sender", 3, seed=1):
        assert not (set(senders[train]) & set(senders[test])) - {""}


def test_by_thread_answers_stay_with_what_they_answer(mail):
    folds = mail_folds(mail, "thread", 3, seed=1)
    assert "threads" in folds.description
    own = {thread[0]: number for number, thread in enumerate(mail.threads) if thread[0]}
    answers = [(i, own[t[1]]) for i, t in enumerate(mail.threads) if t[1] in own and own[t[1]] != i]
    assert answers
    for train, test in folds:
        assert not any((one in train) and (two in test) for one, two in answers)


def test_a_journal_has_no_threads(mail):
    bare = Mail(
        **{name: getattr(mail, name) for name in Mail.__slots__ if name != "threads"}, threads=(("",) * 3,) * len(mail)
    )
    with pytest.raises(LabError, match="no message has a Message-ID to find its thread by"):
        mail_folds(bare, "thread")
    with pytest.raises(LabError, match="cannot split mail by 'luck'; choose one of stratified"):
        mail_folds(mail, "luck")


# the filter and the other models


def test_the_filter_by_folds_says_what_a_filter_says_that_learned_the_training_part(inbox, mail):
    task = task_of(mail)
    [run] = judged({"filter": model_named("filter", mail, OPTIONS)}, task)
    train, test = next(iter(task.folds))
    prepared = [example.message for example in examples(inbox, OPTIONS.spec)]
    with taught_filter([prepared[i] for i in train], mail.y[train], OPTIONS) as filter_:
        said = [filter_.check(inbox[i].raw).log_odds for i in test[:20]]
    place = {name: i for i, name in enumerate(run.predictions.names)}
    found = [run.predictions.log_odds()[place[mail.names[i]]] for i in test[:20]]
    assert found == pytest.approx(said, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in MODELS if name not in {"forest", "boosting"}])
def test_every_model_of_the_catalogue_can_be_judged(name, mail):
    [run] = judged({name: model_named(name, mail, OPTIONS)}, task_of(mail))
    assert run.predictions.errors.mean() < 0.35


def test_what_the_catalogue_names_is_there(mail):
    assert all(hasattr(model_named(name, mail, OPTIONS), "fit") for name in MODELS)
    assert set(JOURNAL_SPLITS) == set(WAYS) - {"thread", "leave-one-out"}


def test_a_model_that_is_not_there_is_named(mail):
    with pytest.raises(LabError, match="cannot load the model nothing:here: ModuleNotFoundError: No module"):
        model_named("nothing:here", mail, OPTIONS)
    with pytest.raises(LabError, match="math:pi is no classifier: it has no fit"):
        model_named("math:pi", mail, OPTIONS)
    assert isinstance(model_named("priory.bayes:BernoulliNB", mail, OPTIONS), BernoulliNB)


def test_a_model_without_kinds_of_features_does_not_see_them(mail):
    kinds = ("header", "header-gram", "sender")
    without = model_without("filter", mail, OPTIONS, kinds).fit(mail.X, mail.y)
    shown = without.named_steps["filterclassifier"].columns >> bits_of_names(mail.bits)
    assert not {KINDS[kind] for kind in shown} & set(kinds)
    blind = mail.X.copy()
    hidden = np.isin(mail.kinds, [KINDS.index(kind) for kind in kinds])
    blind.data[hidden[blind.indices]] = 0
    blind.eliminate_zeros()
    assert np.array_equal(without.predict_log_proba(blind[:9]), without.predict_log_proba(mail.X[:9]))
    with pytest.raises(LabError, match="there is no kind of features 'smell'; there are word"):
        model_without("filter", mail, OPTIONS, ["smell"])
    with pytest.raises(LabError, match="excluding these kinds leaves no features"):
        model_without("filter", mail, OPTIONS, KINDS)


@pytest.mark.slow
def test_a_filter_with_three_labels_is_a_classifier_too(mail):
    y = np.where(np.arange(len(mail)) % 3 == 0, "news", mail.y)
    model = FilterClassifier(mail.columns).fit(mail.X, y)
    assert model.classes_.tolist() == ["ham", "news", "spam"]
    assert model.predict_proba(mail.X[:10]).sum(axis=1) == pytest.approx(1, abs=1e-6)


# leaving one out


def test_leaving_one_out_is_scoring_by_the_counts_of_all_others(mail):
    few = mail.take(slice(0, 80))
    run = leave_one_out(few, OPTIONS)
    with taught_filter(rows_of(few.X, few.columns, few.bits), few.labels, OPTIONS) as filter_:
        learned = sorted(filter_.journal.lessons(), key=lambda lesson: lesson.digest)
    model = PresenceBayes(tuple(OPTIONS.weights[kind] for kind in KINDS), OPTIONS.smoothing)
    for left_out in (0, 41, 79):
        counts = Counts.empty(22, 2)
        for number, lesson in enumerate(learned):
            if number != left_out:
                label = OPTIONS.labels.index(lesson.label)
                counts.add(unpack_features(lesson.features, 22), label, lesson.held_out)
        said = scores(unpack_features(learned[left_out].features, 22), counts, model, calibrations(counts))
        assert run.predictions.log_odds()[left_out] == pytest.approx(said[1].log_odds, abs=1e-9)
    assert run.predictions.names == few.names


def test_leaving_one_out_leaves_the_counts_as_they_were(mail):
    few = mail.take(slice(0, 60))
    first, again = leave_one_out(few, OPTIONS), leave_one_out(few, OPTIONS)
    assert np.array_equal(first.predictions.log_probabilities, again.predictions.log_probabilities)


def test_a_copy_that_stays_gives_the_answer_away_and_a_group_takes_it_along(mail):
    twice = Mail.of(_examples_twice(mail))
    alone, together = leave_one_out(twice, OPTIONS), leave_one_out(twice, OPTIONS, copies(twice))
    held = [
        np.mean(-run.predictions.log_probabilities[np.arange(120), run.predictions.truth]) for run in (alone, together)
    ]
    assert held[0] < held[1]


def test_what_cannot_be_left_out_is_named(mail):
    ham = mail.take(mail.y == "ham")
    with pytest.raises(LabError, match="there is no spam among"):
        leave_one_out(ham, OPTIONS)
    one = mail.take(np.concatenate([np.flatnonzero(mail.y == "ham")[:9], np.flatnonzero(mail.y == "spam")[:1]]))
    with pytest.raises(LabError, match="all messages of spam are near-copies and would be left out together"):
        leave_one_out(one, OPTIONS)


# the golden rule


@pytest.mark.slow
def test_what_is_sealed_is_left_out_and_every_look_is_noted(mail, tmp_path):
    sealed = seal_share(tmp_path / "test.seal", mail, 0.25, seed=1)
    rest = without_sealed_mail(mail, sealed)
    n_sealed = sum(sealed.n_by_class.values())
    assert len(rest) + n_sealed == len(mail)
    assert not set(rest.names) & {each.name for each in sealed.examples}
    subject, bench = Subject("an inbox", Costs()), Bench(tmp_path / "lab")
    first = look({"filter": model_named("filter", mail, OPTIONS)}, mail, sealed, subject, bench)
    assert first.lines[0] == "looked at once: this is a test error"
    assert first.lines[1].startswith(f"one look at {n_sealed} messages")
    assert len(first.runs[0].run.predictions) == n_sealed
    second = look(
        {"bernoulli": model_named("bernoulli", mail, OPTIONS)}, mail, Sealed.open(sealed.path), subject, bench
    )
    assert second.lines[0] == "looked at 2 times: this is a validation error"
    assert second.lines[1].startswith(f"best of 2 on {n_sealed} messages")
    shown_again = [load_report(kept).report.lines[0] for kept in finished_results(tmp_path / "lab")]
    assert shown_again == ["looked at 2 times: this is a validation error"] * 2
    assert [each.model for each in sealed.looks] == ["filter", "bernoulli"]
    assert sealed.looks[0].figures["accuracy %"]["estimate"] > 60


def test_looking_without_all_of_the_test_set_is_refused(mail, tmp_path):
    sealed = seal_share(tmp_path / "test.seal", mail, 0.25, seed=1)
    fewer = mail.take(slice(0, len(mail) - 20))
    with pytest.raises(LabError, match="are missing"):
        look(
            {"filter": model_named("filter", mail, OPTIONS)},
            fewer,
            sealed,
            Subject("an inbox", Costs()),
            Bench(tmp_path),
        )
    assert sealed.n_looks == 0
    only = mail.take(np.isin(mail.names, [each.name for each in sealed.examples]))
    with pytest.raises(LabError, match="all of this mail is in the test set"):
        without_sealed_mail(only, sealed)


# reports that are kept


@pytest.mark.slow
def test_the_worst_mistakes_have_reasons_that_are_those_of_the_fold(inbox, mail):
    task = task_of(mail)
    [run] = judged({"filter": model_named("filter", mail, OPTIONS)}, task)
    full = explain(run, mail, task.folds, OPTIONS, inbox)
    assert len(full.mistakes) == min(20, run.predictions.errors.sum()) > 0
    worst = full.mistakes[0]
    log_odds = worst.prior + sum(reason.term for reason in worst.reasons)
    assert np.sign(log_odds) == np.sign(run.predictions.log_odds()[worst.number])
    assert all(weight.n_examples >= 5 for weight in full.weights)
    assert full.weights


def test_a_report_is_kept_whole(tmp_path):
    said = Predictions.of(
        ["ham", "spam"], ["ham", "spam", "spam"], [[0.9, 0.1], [0.4, 0.6], [1.0, 0.0]], ["a", "b", "c<d>"]
    )
    run = Run(
        "filter", said, "by hand", 1.5, 0.5, 123, 0.25,
        (Mistake(2, 0.5, (Reason("word:offer", -1.25),), "spam"),), (Weight("word:offer", -1.25, 7),),
    )  # fmt: skip
    kept = ResultFolder.under(tmp_path, "judged", {"mail": "inbox", "n": 3})
    store_report(kept, ReportInputs([run], Costs(unsure=7), "an inbox", ["believe it"]))
    back = load_report(ResultFolder(kept.folder))
    assert back.report.as_dict() == ReportInputs([run], Costs(unsure=7), "an inbox", ["believe it"]).report.as_dict()
    assert back.runs[0].mistakes == run.mistakes
    assert [each.folder for each in finished_results(tmp_path)] == [kept.folder]
    assert load_report(kept, Costs(unsure=1)).costs.unsure == 1


def test_the_same_question_finds_its_answer_and_another_does_not(tmp_path):
    one = ResultFolder.under(tmp_path, "judged", {"model": digest_of(BernoulliNB())})
    assert ResultFolder.under(tmp_path, "judged", {"model": digest_of(BernoulliNB())}).folder == one.folder
    assert ResultFolder.under(tmp_path, "judged", {"model": digest_of(BernoulliNB(alpha=2.0))}).folder != one.folder


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(LabError, match=r"cannot create .*file.*: .*; choose another --home"):
        ResultFolder.under(tmp_path / "file", "judged", {})


def test_who_edits_a_model_of_his_own_is_not_told_what_the_old_one_said(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    source = "from priory.bayes import BernoulliNB\nclass Mine(BernoulliNB):\n    {}\n"
    digests = []
    for body in ("pass", "pass", "n = 2"):
        (tmp_path / "my_own_model.py").write_text(source.format(body))
        sys.modules.pop("my_own_model", None)
        importlib.invalidate_caches()
        digests.append(digest_of(importlib.import_module("my_own_model").Mine()))
    assert digests[0] == digests[1] != digests[2]


def test_what_cannot_be_reported_is_not_kept(tmp_path):
    ham = Predictions.of(["ham", "spam"], ["ham", "ham"], [[0.9, 0.1], [0.8, 0.2]])
    kept = ResultFolder.under(tmp_path, "judged", {"n": 1})
    with pytest.raises(LabError, match="spam"):
        store_report(kept, ReportInputs([Run("filter", ham, "by hand")], Costs(), "an inbox"))
    assert finished_results(tmp_path) == []


def test_an_unfinished_report_is_named(tmp_path):
    with pytest.raises(LabError, match="holds no finished report"):
        load_report(ResultFolder.under(tmp_path, "judged", {"n": 1}))


# trust


@pytest.mark.slow
def test_models_that_were_tried_before_count(mail, tmp_path):
    bench, subject = Bench(tmp_path), Subject("an inbox", Costs(), digest="the same mail")
    task = task_of(mail)
    first = judge({"bernoulli": model_named("bernoulli", mail, OPTIONS)}, task, subject, bench)
    assert len(first.lines) == 1
    assert "one look at" in first.lines[0]
    again = judge({"bernoulli": model_named("bernoulli", mail, OPTIONS)}, task, subject, bench)
    assert again.lines == first.lines
    other = judge({"complement": model_named("complement", mail, OPTIONS)}, task, subject, bench)
    better = other.runs[0].run.predictions.error_rate <= first.runs[0].run.predictions.error_rate
    known = "best of 2 on" if better else "1 had fewer errors"
    assert other.lines[1].startswith(f"1 other model was judged by the same messages before: {known}")
    both = judge({name: model_named(name, mail, OPTIONS) for name in ("bernoulli", "complement")}, task, subject, bench)
    assert len(both.lines) == 1
    assert "best of 2 on" in both.lines[0]
    errors = [judged_.run.predictions.errors.mean() for judged_ in both.runs]
    assert errors == sorted(errors)


def test_a_torn_line_in_the_list_of_what_was_tried_is_passed_over(tmp_path):
    path = tmp_path / "tried.jsonl"
    assert log_attempts(path, "mail", {"a": 0.2, "b": 0.1}) == Attempts(2, 0)
    path.write_text(path.read_text()[:-9])
    assert log_attempts(path, "mail", {"c": 0.3}) == Attempts(2, 1)
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(LabError, match=r"cannot create .*file: .*choose another --home"):
        log_attempts(tmp_path / "file" / "tried.jsonl", "mail", {"c": 0.3})
    (tmp_path / "folder").mkdir()
    with pytest.raises(LabError, match=r"cannot use .*folder: .*choose another --home"):
        log_attempts(tmp_path / "folder", "mail", {"c": 0.3})


def test_what_is_no_better_than_guessing_or_too_good_gives_pause():
    ham = Predictions.of(["ham", "spam"], ["ham", "spam", "spam"], [[0.9, 0.1]] * 3)
    lines = trust_lines([Run("constant", ham, "by hand")])
    assert lines[1] == "this is no better than always saying spam, which is wrong in 33.33 %"
    good = Predictions.of(["ham", "spam"], ["ham", "spam"] * 100, [[0.9, 0.1], [0.1, 0.9]] * 100)
    assert trust_lines([Run("perfect", good, "by hand")])[1].startswith("not one error in 200: can the labels be told")


def test_a_model_that_fails_is_named_and_the_others_are_judged(mail, tmp_path):
    class Broken(BernoulliNB):
        def fit(self, X, y):
            raise RuntimeError("no\nway")

    models = {"broken": Broken(), "bernoulli": model_named("bernoulli", mail, OPTIONS)}
    report = judge(models, task_of(mail), Subject("an inbox", Costs()), Bench(tmp_path))
    assert [each.run.model for each in report.runs] == ["bernoulli"]
    assert report.lines[0].startswith("not judged: broken failed: RuntimeError: no way (")
    with pytest.raises(LabError, match="broken failed: RuntimeError"):
        judge({"broken": Broken()}, task_of(mail), Subject("an inbox", Costs()), Bench(tmp_path))


def test_nothing_to_judge_is_named(mail, tmp_path):
    with pytest.raises(LabError, match="there is no model to judge"):
        judge({}, task_of(mail), Subject("an inbox", Costs()), Bench(tmp_path))


def test_trust_lines_name_the_best(mail):
    runs = judged({name: model_named(name, mail, OPTIONS) for name in ("bernoulli", "complement")}, task_of(mail))
    best = min(runs, key=lambda run: run.predictions.errors.mean()).model
    assert trust_lines(sorted(runs, key=lambda run: run.predictions.error_rate))[0].startswith(
        f"{best}, best of 2 on 240 messages"
    )


@pytest.mark.parametrize(("spam", "is_named"), [(COLLECTION, True), (JUNK, False)])
def test_reports_say_if_labels_come_from_different_places(tmp_path, spam, is_named):
    spec, together = Options().spec, sorted([*INBOX, *spam], key=lambda message: message.raw[-9:])
    source = Source("mail", Options(), spec.bits, len(together), True, lambda _jobs: examples(together, spec), None)
    bench = Bench(tmp_path)
    reports = (
        MailEvaluation.read(source, bench).evaluate(
            "bernoulli", Split("stratified", 2, 0, together=False), [], curve=False
        ),
        replay_source(source, ["bernoulli"], Feedback(), bench)[0],
    )
    for report in reports:
        assert any("ham comes from another place than spam: " in line for line in report.lines) == is_named
