"""Messages that name each other, or a third, are one thread; headers that name nothing link nothing."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from priory.corpus import read_index
from priory.lab.splits import threads
from priory.message import parse


def test_a_conversation_is_one_thread_in_whatever_order_it_comes() -> None:
    question = b"Message-ID: <1@a.example>\nSubject: Lunch?\n\n"
    answer = b"Message-ID: <2@b.example>\nIn-Reply-To: <1@a.example>\n\n"
    thanks = b"message-id: <3@a.example>\nREFERENCES: <1@a.example>\n <2@b.example>\n\n"
    offer = b"Message-ID: <4@c.example>\n\nYou won"
    assert threads(map(parse, [thanks, offer, question, answer])).tolist() == [0, 1, 0, 0]


def test_answers_to_a_message_that_is_not_there_are_one_thread() -> None:
    assert threads([("<2@b>", "<1@a>", ""), ("<3@c>", "", "<0@a> <1@a>"), ("<4@d>", "<5@d>", "")]).tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    ("headers", "linked"),
    [
        (("1@a.example", "", ""), True),
        (("", "Your message of Tuesday. <1@a.example>", ""), True),
        (("", "Message from Ann <ann@a.example> of Tuesday <1@a.example>", ""), True),
        (("", "", "<0@a.example><1@a.exam\n ple>"), True),
        (("", "Message from Bob <1@a.example> <2@b.example>", ""), False),
        (("", 'Ann\'s message of "Tue, 1 Oct 2002 16:58:21 -0400"', ""), False),
        (("<>", "< >", "<1@a.example"), False),
        (("<1@A.EXAMPLE>", "", ""), False),
        (("", "", ""), False),
    ],
)
def test_broken_headers_link_what_they_name(headers: tuple[str, str, str], linked: bool) -> None:
    assert threads([("<1@a.example>", "", ""), headers]).tolist() == [0, 0 if linked else 1]


def test_messages_without_names_are_alone() -> None:
    assert threads([("", "", ""), ("<>", "", ""), ("", "", "")]).tolist() == [0, 1, 2]
    assert threads([]).tolist() == []


@settings(deadline=None)
@given(st.lists(st.binary(max_size=60)))
def test_no_bytes_break_it(values: list[bytes]) -> None:
    mail = [b"Message-ID: <" + value + b"\nReferences: " + value + b"\n\n" for value in values]
    assert len(threads(map(parse, mail))) == len(mail)


@pytest.mark.corpora
def test_the_threads_of_real_mail_are_conversations(corpora: Path) -> None:
    mail = list(read_index(corpora / "spamassassin" / "index"))
    heads = [parse(message.raw.partition(b"\n\n")[0] + b"\n\n") for message in mail]
    groups = threads(heads)
    sizes = np.bincount(groups)
    assert (len(sizes), sizes[sizes > 1].sum(), sizes.max()) == (4327, 2299, 39)
    largest = {heads[number].header("Subject").removeprefix("Re: ") for number in np.flatnonzero(sizes[groups] == 39)}
    assert largest == {"Sorting", "bad focus/click behaviours", "Exmh/nmh (was Sorting)..."}
    is_spam = np.array([message.label == "spam" for message in mail])
    mixed = np.intersect1d(groups[is_spam], groups[~is_spam])
    subjects = [heads[number].header("Subject") for number in np.flatnonzero(np.isin(groups, mixed) & ~is_spam)]
    assert subjects == ["Re: DANIEL KARGBO. fork !", "RE: FREE ORIGINAL STAR WARS CARDS Adv:"]  # people answer spam
