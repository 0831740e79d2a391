"""Files that are sent to a real daemon as a form, each message of them answered about; and what is refused."""

import asyncio
import json
import random
import shutil
import socket
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from http_client import Answer, Client
from priory.demo import Drawn
from priory.filter.filter import Filter
from priory.journal import JournalError
from priory.message import parse
from priory.server.http.streaming import stream_answers
from priory.server.http.uploads import MOST_FILES, MOST_MESSAGES, MOST_UPLOADS, SIZE_FACTOR, Upload
from priory.server.options import ServeOptions
from priory.server.tokens import issue
from real_daemon import Daemon, received, serving

pytestmark = pytest.mark.slow

MOST_BYTES = 50_000
CONFIG = f"""
    [serve]
    workers = 1
    max_bytes = {MOST_BYTES}
    [http]
    listen = "127.0.0.1:0"
    rate = 100_000
"""
BOUNDARY = "frontier"
FORM = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
ENVELOPE = b"From ann@mail.example Thu Jan  1 00:00:00 2026\n"


@pytest.fixture(scope="module")
def daemon(lessons: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    home = Path(shutil.copytree(lessons, tmp_path_factory.mktemp("uploads") / "home"))
    with serving(home, CONFIG) as running:
        yield running
        assert running.n_logged("error") == 0


@pytest.fixture(scope="module")
def api(daemon: Daemon) -> Client:
    return Client(daemon.port, issue(daemon.home, "learn"))


def form(*files: tuple[str, bytes]) -> bytes:
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="mail"; filename="%s"\r\n\r\n'
    parts = [(head % name).encode() + raw + b"\r\n" for name, raw in files]
    return b"".join(parts) + f"--{BOUNDARY}--\r\n".encode()


def sent(api: Client, path: str, *files: tuple[str, bytes]) -> Answer:
    return api.ask("POST", path, form(*files), FORM)


def mbox(*messages: bytes) -> bytes:
    return b"\n".join(ENVELOPE + raw.rstrip(b"\n") + b"\n" for raw in messages)


def test_each_message_is_judged_as_if_it_had_come_alone(api: Client, daemon: Daemon, mail: list[Drawn]):
    raws = [drawn.raw.rstrip(b"\n") + b"\n" for drawn in mail[:5]]
    answer = sent(api, "/v1/check", ("old.mbox", mbox(*raws[:4])), ("new.eml", raws[4])).json
    assert (answer["passed_over"], answer["stopped"]) == ([], None)
    sources = [*(f"old.mbox:{i}" for i in range(1, 5)), "new.eml"]
    with Filter.open(daemon.home) as filter_:
        expected = [filter_.check(raw).as_dict() for raw in raws]
    assert [
        (message.pop("source"), message.pop("subject"), message.pop("sender")) for message in answer["messages"]
    ] == [
        (source, parse(raw).header("subject"), parse(raw).sender_domain)
        for source, raw in zip(sources, raws, strict=True)
    ]
    assert answer["messages"] == json.loads(json.dumps(expected))


def test_many_lessons_are_durable_have_their_source_and_are_taken_back(api: Client, daemon: Daemon, mail: list[Drawn]):
    spam = [drawn.raw for drawn in mail[5:35] if drawn.label == "spam"]
    before = api.get("/v1/stats").json["lessons"]
    answer = sent(api, "/v1/learn?label=spam&user=ann", ("junk.mbox", mbox(*spam))).json
    assert Counter(message["outcome"] for message in answer["messages"]) == {"learned": len(spam)}
    with Filter.open(daemon.home) as filter_:
        sources = {lesson.source for lesson in filter_.journal.lessons() if lesson.user == "ann"}
        assert sources == {f"http:junk.mbox:{i}" for i in range(1, len(spam) + 1)}
    again = sent(api, "/v1/learn?label=ham&user=ann", ("junk.mbox", mbox(*spam))).json
    assert {(message["outcome"], message["was"]) for message in again["messages"]} == {("relearned", "spam")}
    for message in answer["messages"]:
        assert api.post(f"/v1/forget?user=ann&digest={message['digest']}").json["was"] == "ham"
    assert api.get("/v1/stats").json["lessons"] == before


def test_what_is_no_mail_is_passed_over_with_the_reason(api: Client):
    files = [
        ("bill.pdf", b"%PDF-1.7"),
        ("nothing", b""),
        ("all.tar.gz", b"Subject: x\n\n"),
        ("large.eml", b"Subject: x\n\n".ljust(MOST_BYTES + 1)),
        ("../<b>.eml", b"Subject: x\n\n"),
    ]
    answer = sent(api, "/v1/check", *files).json
    assert [message["source"] for message in answer["messages"]] == ["../<b>.eml"]
    assert [tuple(file.values()) for file in answer["passed_over"]] == [
        ("bill.pdf", "This is a PDF, not mail."),
        ("nothing", "This is empty."),
        ("all.tar.gz", "This is an archive; extract it, and send its files."),
        ("large.eml", f"The message has more than {MOST_BYTES} bytes."),
    ]


def test_an_upload_is_bounded_in_messages(api: Client):
    answer = sent(api, "/v1/check", ("many.mbox", mbox(*[b"Subject: x\n\n"] * (MOST_MESSAGES + 1)))).json
    assert len(answer["messages"]) == MOST_MESSAGES
    assert answer["stopped"] == "An upload may contain 10,000 messages; send the rest in another."


def test_an_upload_is_bounded_in_bytes_and_files(api: Client):
    most = MOST_BYTES * SIZE_FACTOR
    for body in (form(("a", bytes(most))), iter([form(("a", bytes(most)))])):
        answer = api.ask("POST", "/v1/check", body, FORM)
        assert (answer.status, answer.problem.partition(",")[0]) == (413, f"The upload has more than {most} bytes")
    answer = sent(api, "/v1/check", *[("x.eml", b"Subject: x\n\n")] * (MOST_FILES + 1))
    assert (answer.status, answer.problem) == (
        400,
        f"The upload cannot be parsed: Too many files. Maximum number of files is {MOST_FILES}.",
    )


@pytest.mark.parametrize(
    ("kind", "body", "status", "problem"),
    [
        ("multipart/form-data", form(), 400, "The upload cannot be parsed: Missing boundary in multipart."),
        (FORM["Content-Type"], form(), 400, "The upload contains no file."),
        (FORM["Content-Type"], b"", 400, "The upload"),
        (FORM["Content-Type"], b"Subject: x\n\n", 400, "The upload cannot be parsed"),
        (
            FORM["Content-Type"],
            form(("x", b"")).replace(b'; filename="x"', b""),
            400,
            "The upload cannot be parsed: Every part must be a file, with a filename.",
        ),
        ("multipart/mixed; boundary=frontier", form(("x", b"")), 415, "The body must be an unchanged message"),
    ],
)
def test_what_is_no_form_with_files_is_refused(kind: str, body: bytes, status: int, problem: str, api: Client):
    answer = api.ask("POST", "/v1/check", body, {"Content-Type": kind})
    assert answer.status == status
    assert answer.problem.startswith(problem)


def test_files_are_not_unpacked(api: Client):
    answer = api.ask("POST", "/v1/check", form(("x", b"x")), {**FORM, "Content-Encoding": "gzip"})
    assert (answer.status, answer.problem) == (415, "The files must not be compressed.")


def test_a_form_that_means_ill_is_answered(api: Client, mail: list[Drawn]):
    chance = random.Random(8)
    whole = form(("a.mbox", mbox(mail[0].raw, mail[1].raw)), ("b.eml", mail[2].raw))
    interesting = [
        b"\r\n",
        f"--{BOUNDARY}".encode(),
        b"--",
        b'filename="',
        b"\0",
        b"filename*=utf-8''%ff",
        b"From ",
        b"\xff",
    ]
    statuses = Counter()
    for _ in range(80):
        body = bytearray(whole)
        for _ in range(chance.randrange(1, 5)):
            place = chance.randrange(len(body))
            body[place : place + chance.randrange(8)] = chance.choice(interesting)
        cut = bytes(body[: chance.choice([len(body), chance.randrange(len(body))])])
        answer = api.ask("POST", chance.choice(["/v1/check", "/v1/learn?label=spam&user=eve"]), cut, FORM)
        statuses[answer.status] += 1
        if answer.status == 200:
            assert set(answer.json) == {"messages", "passed_over", "stopped"}
    assert set(statuses) == {200, 400}


def begun(api: Client) -> socket.socket:
    """Begin an upload that does not end."""
    head = [
        "POST /v1/check HTTP/1.1",
        "Host: localhost",
        f"Authorization: Bearer {api.token}",
        f"Content-Type: {FORM['Content-Type']}",
        "Content-Length: 100",
    ]
    client = socket.create_connection(("127.0.0.1", api.port), timeout=60)
    client.sendall("\r\n".join([*head, "", "--"]).encode())
    return client


def answered(api: Client, status: int) -> Answer:
    """Send uploads until one is answered so: those that were begun may not have been heard yet, or not have ended."""
    while (answer := sent(api, "/v1/check", ("x.eml", b"Subject: x\n\n"))).status != status:
        pass
    return answer


def test_no_more_uploads_lie_on_the_disk_than_may(api: Client, daemon: Daemon):
    others = [Client(daemon.port, issue(daemon.home, "check")) for _ in range(MOST_UPLOADS)]
    with ExitStack() as stack:
        clients = [stack.enter_context(begun(other)) for other in others]
        assert answered(api, 503).headers["Retry-After"] == "5"
        clients[0].shutdown(socket.SHUT_WR)
        received(clients[0])
        answered(api, 200)


def test_a_token_does_not_hold_the_places_of_others(api: Client, daemon: Daemon):
    slow = Client(daemon.port, issue(daemon.home, "check"))
    with ExitStack() as stack:
        for _ in range(MOST_UPLOADS):
            stack.enter_context(begun(slow))
        answered(slow, 503)
        assert sent(api, "/v1/check", ("x.eml", b"Subject: x\n\n")).status == 200


def test_an_upload_that_is_refused_leaves_its_place_to_others(api: Client):
    for _ in range(2 * MOST_UPLOADS):
        assert sent(api, "/v1/learn?label=nonsense", ("x.eml", b"Subject: x\n\n")).status == 422
        assert api.ask("POST", "/v1/learn?label=ham", b"--nonsense", FORM).status == 400
    assert sent(api, "/v1/learn?label=ham", ("x.eml", b"Subject: x\n\n")).status == 200


def test_what_was_done_before_an_error_is_said(capfd: pytest.CaptureFixture[str]):
    upload = Upload(ServeOptions())
    answers: list[list[bytes]] = [[b'{"source":"a"}'], [b'{"source":"b"}', b'{"source":"c"}']]

    async def work(_groups: object) -> list[bytes]:
        if answers:
            return answers.pop(0)
        raise JournalError("The disk is full.")

    async def streamed() -> bytes:
        body: AsyncIterator[bytes] = (await stream_answers(upload, work)).body_iterator
        return b"".join([piece async for piece in body])

    answer = json.loads(asyncio.run(streamed()))
    assert [message["source"] for message in answer["messages"]] == ["a", "b", "c"]
    assert (answer["passed_over"], answer["stopped"]) == ([], "The disk is full.")
    with pytest.raises(JournalError):  # nothing was done: that is a problem, not an answer
        asyncio.run(streamed())
    assert "JournalError" in capfd.readouterr().err
