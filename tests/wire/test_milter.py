import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from priory.wire.milter import (
    ACCEPT,
    CONTINUE,
    LONGEST_WATCHED,
    MOST_MACRO_BYTES,
    MOST_WATCHED,
    SKIP,
    Begun,
    BrokenError,
    Milter,
    MilterMessage,
    packet,
    reject_packet,
)

EVERYTHING = 0x1FFFFF
LEADING_SPACE, SKIPS, SILENT_RECIPIENTS, SILENT_FIELDS = 0x100000, 0x400, 0x8000, 0x80
LEFT_OUT = 0x343


def offer(version=6, actions=0x1FF, steps=EVERYTHING):
    return packet("O", b"".join(n.to_bytes(4) for n in (version, actions, steps)))


def macros(step, **known):
    pairs = b"".join(
        f"{name if len(name) == 1 else '{' + name + '}'}\0{value}\0".encode() for name, value in known.items()
    )
    return packet("D", step.encode() + pairs)


MAIL = packet("M", b"<ann@mail.example>\0SIZE=120\0")
RECIPIENT = packet("R", b"<bob@home.example>\0")
SUBJECT = packet("L", b"Subject\0 lunch?\0")
FOLDED = packet("L", b"X-Way\0 here\n\tand there\0")
BODY = packet("B", b"At noon,\r\nor later.\r\n")
END = packet("E")
CONVERSATION = [
    offer(),
    macros("C", j="mx.home.example"),
    macros("M", i="4XyZ", auth_authen="ann"),
    MAIL,
    macros("R", i="4XyZ"),
    RECIPIENT,
    SUBJECT,
    FOLDED,
    BODY,
    macros("E", i="4XyZ"),
    END,
]


def talk(milter, packets, size=None):
    """Send packets in pieces of a given size; return all answers and all events."""
    data, answers, decisions = b"".join(packets), b"", []
    pieces = packets if size is None else [data[i : i + size] for i in range(0, len(data), size)]
    for piece in pieces:
        answer, decision = milter.receive(piece)
        while True:
            answers += answer
            if decision is None:
                break
            decisions.append(decision)
            answers += CONTINUE
            answer, decision = milter.receive(b"")
    return answers, decisions


def opened(**offered):
    milter = Milter(most_bytes=10_000)
    milter.receive(offer(**offered))
    return milter


def test_a_message_arrives_as_it_will_be_stored():
    _, (begun, message) = talk(Milter(10_000), CONVERSATION)
    assert begun == Begun({"j": "mx.home.example", "i": "4XyZ", "auth_authen": "ann"})
    assert message.raw == b"Subject: lunch?\nX-Way: here\n\tand there\n\nAt noon,\nor later.\n"
    assert message.macros["i"] == "4XyZ"
    assert not message.is_cut


@pytest.mark.parametrize(
    ("recipients", "noted"),
    [
        ([b"<Bob@Home.example>\0"], "bob@home.example"),
        ([b"<bob@home.example>\0NOTIFY=NEVER\0"], "bob@home.example"),
        ([b"<bob@home.example>\0", b"<ann@home.example>\0"], ""),
        ([b"<" + b"b" * 400 + b">\0"], ""),
        ([b"<bob\n@home.example>\0"], ""),
        ([], ""),
    ],
)
def test_who_it_is_for_is_known_if_it_is_for_one(recipients, noted):
    packets = [offer(), MAIL, *(packet("R", each) for each in recipients), SUBJECT, END, MAIL, RECIPIENT, END]
    _, (_, first, _, second) = talk(Milter(10_000), packets)
    assert (first.recipient, second.recipient) == (noted, "bob@home.example")


def test_the_bytes_may_be_cut_anywhere():
    whole = talk(Milter(10_000), CONVERSATION)
    for size in range(1, len(b"".join(CONVERSATION)) + 1):
        assert talk(Milter(10_000), CONVERSATION, size) == whole


def test_an_endless_head_fills_no_memory():
    milter = Milter(1000, watched=(b"x-spam-",))
    milter.receive(offer() + MAIL)
    for _ in range(MOST_WATCHED + 10):
        milter.receive(packet("L", b"X-Spam-Flag\0 NO\0"))
    _, message = milter.receive(packet("E"))
    assert isinstance(message, MilterMessage)
    assert message.is_cut
    assert len(message.head) <= 1000
    assert len(message.watched) == MOST_WATCHED


def test_macros_without_end_fill_no_memory():
    milter = opened()
    half = b"{m}\0" + b"x" * (MOST_MACRO_BYTES // 2) + b"\0"
    milter.receive(packet("D", b"C" + half) + packet("D", b"C" + half))  # in place of the first
    with pytest.raises(BrokenError, match="more than 65536 bytes of macros"):
        milter.receive(packet("D", b"M" + half))


def test_as_many_macros_as_servers_send_are_known():
    milter = opened()
    sent = {f"m{i}": "x" * 100 for i in range(100)}
    assert talk(milter, [macros("C", **sent), macros("M", i="4XyZ"), MAIL])[1] == [Begun({**sent, "i": "4XyZ"})]


def test_names_of_fields_without_end_fill_no_memory():
    milter = Milter(1000, watched=(b"x-spam-",))
    milter.receive(offer() + MAIL + packet("L", b"X-Spam-" + b"a" * LONGEST_WATCHED + b"\0 NO\0"))
    _, message = milter.receive(packet("E"))
    assert isinstance(message, MilterMessage)
    assert message.watched == []


def test_only_what_both_can_is_agreed_upon():
    answer, _ = Milter(1000).receive(offer())
    assert [int.from_bytes(answer[i : i + 4]) for i in (5, 9, 13)] == [
        6,
        0x31,
        LEFT_OUT | SILENT_RECIPIENTS | SILENT_FIELDS | SKIPS | LEADING_SPACE,
    ]
    answer, _ = Milter(1000).receive(offer(version=2, actions=0x01, steps=0x3F))
    assert [int.from_bytes(answer[i : i + 4]) for i in (5, 9, 13)] == [2, 0x01, 0x03]


def test_a_server_of_little_knowledge_gets_an_answer_to_every_step():
    milter = opened(version=2, steps=0)
    for step in (packet("C", b"mx\x004\0\x19192.0.2.1\0"), packet("H", b"mx\0")):
        assert milter.receive(step) == (CONTINUE, None)
    assert milter.receive(MAIL) == (b"", Begun({}))
    for step in (RECIPIENT, packet("L", b"Subject\0lunch?\0"), packet("N"), BODY):
        assert milter.receive(step) == (CONTINUE, None)
    _, message = milter.receive(END)
    assert message.raw == b"Subject: lunch?\n\nAt noon,\nor later.\n"


def test_of_a_long_message_the_beginning_is_read_and_the_server_is_told_to_stop():
    milter = Milter(most_bytes=50)
    milter.receive(offer())
    talk(milter, [MAIL, SUBJECT])
    assert milter.receive(packet("B", b"x" * 20)) == (CONTINUE, None)
    assert milter.receive(packet("B", b"x" * 200)) == (SKIP, None)
    _, message = milter.receive(END)
    assert message.is_cut
    assert message.raw == b"Subject: lunch?\n\n" + b"x" * 34


def test_a_server_that_cannot_stop_is_let_go_on():
    milter = Milter(most_bytes=10)
    milter.receive(offer(steps=LEADING_SPACE))
    talk(milter, [MAIL])
    assert milter.receive(packet("B", b"x" * 20)) == (CONTINUE, None)


def test_fields_that_are_watched_for_are_known_by_name_also_beyond_what_is_read():
    milter = Milter(most_bytes=20, watched=(b"x-priory-",))
    milter.receive(offer())
    _, (_, message) = talk(milter, [MAIL, SUBJECT, packet("L", b"X-Priory-Verdict\0 ham\0"), END])
    assert message.head == b"Subject: lunch?\n"
    assert message.watched == [b"x-priory-verdict"]
    assert message.is_cut


def test_what_is_known_of_one_message_is_not_believed_of_the_next():
    milter = opened()
    for end in (END, packet("A")):
        talk(milter, [macros("M", auth_authen="ann"), MAIL, RECIPIENT, SUBJECT, BODY, end])
        _, decisions = talk(milter, [MAIL, END])
        assert decisions == [Begun({}), MilterMessage(macros={})]
    talk(milter, [macros("C", j="mx"), macros("M", auth_authen="ann"), MAIL, packet("K")])
    assert talk(milter, [MAIL])[1] == [Begun({})]


def test_a_connection_carries_many_messages_and_ends():
    milter = opened()
    for _ in range(3):
        _, (_, message) = talk(milter, [MAIL, SUBJECT, BODY, END])
        assert message.raw == b"Subject: lunch?\n\nAt noon,\nor later.\n"
        assert not milter.is_over
    assert milter.receive(packet("Q")) == (b"", None)
    assert milter.is_over


@pytest.mark.parametrize(
    ("sent", "what"),
    [
        (MAIL, "step 'M' is not allowed here"),
        (offer() + offer(), "step 'O' is not allowed here"),
        (offer() + SUBJECT, "step 'L' is not allowed here"),
        (offer() + packet("?"), "step '\\?' is not allowed here"),
        (offer() + packet("Q") + packet("Q"), "step 'Q' is not allowed here"),
        (packet("O", b"\0\0\0\6"), "negotiation without version"),
        (offer(version=1), "version 1"),
        (b"\0\0\0\0", "packet of 0 bytes"),
        (b"GET / HTTP/1.1\r\n\r\n", "packet of 1195725856 bytes"),
    ],
)
def test_what_is_not_the_protocol_is_refused(sent, what):
    milter = Milter(1000)
    with pytest.raises(BrokenError, match=what):
        talk(milter, [sent])


@given(
    st.lists(st.tuples(st.sampled_from("OCHMRTLNBEAKUDQ?"), st.binary(max_size=30)), max_size=40), st.integers(1, 50)
)
def test_any_packets_are_read_or_refused(packets, size):
    milter = Milter(most_bytes=40)
    with contextlib.suppress(BrokenError):
        talk(milter, [offer(), *(packet(name, content) for name, content in packets)], size)


@given(st.binary())
def test_any_bytes_are_read_or_refused(data):
    with contextlib.suppress(BrokenError):
        Milter(1000).receive(data)


def test_fields_are_put_before_all_others_in_their_order():
    sent = opened().insert_fields([("X-Priory-Verdict", "spam"), ("X-Priory-Evidence", "a;\n\tb")])
    assert sent == packet("i", b"\0\0\0\0X-Priory-Verdict\0 spam\0") + packet(
        "i", b"\0\0\0\1X-Priory-Evidence\0 a;\n\tb\0"
    )
    assert opened(steps=0).insert_fields([("X-A", "b")]) == packet("i", b"\0\0\0\0X-A\0b\0")
    assert opened(actions=0).insert_fields([("X-A", "b")]) == b""


def test_fields_are_removed_from_the_last_on_as_the_others_move_up():
    names = [b"x-spam-flag", b"x-priory-verdict", b"x-spam-flag"]
    assert opened().remove_fields(names) == (
        packet("m", b"\0\0\0\2x-spam-flag\0\0")
        + packet("m", b"\0\0\0\1x-spam-flag\0\0")
        + packet("m", b"\0\0\0\1x-priory-verdict\0\0")
    )
    assert opened(actions=0x01).remove_fields(names) == b""


def test_a_message_is_quarantined_or_refused():
    assert opened().quarantine("spam, 99.8 %") == packet("q", b"spam, 99.8 %\0")
    assert opened(actions=0x11).quarantine("spam") == b""
    assert reject_packet("99.8 % spam") == packet("y", b"550 5.7.1 99.8 %% spam\0")
    assert ACCEPT == b"\0\0\0\1a"
