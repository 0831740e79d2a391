import itertools
import re
from collections import Counter
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default

import pytest

from priory.demo import Drawn, draw
from priory.demo.phrases import ENGLISH_SPAM, SPAM

pytestmark = pytest.mark.slow

RESERVED = re.compile(r"(^|\.)(example|test|invalid|example\.(com|org|net))$")
DOCUMENTATION = re.compile(r"^(192\.0\.2|198\.51\.100|203\.0\.113)\.\d{1,3}$")


def read(drawn: Drawn) -> EmailMessage:
    message = message_from_bytes(drawn.raw, policy=default)
    assert isinstance(message, EmailMessage)
    return message


@pytest.fixture(scope="module")
def inbox() -> list[Drawn]:
    return list(draw(2000, seed=20))


@pytest.fixture(scope="module")
def messages(inbox: list[Drawn]) -> list[EmailMessage]:
    return [read(drawn) for drawn in inbox]


@pytest.fixture(scope="module")
def parts(messages: list[EmailMessage]) -> list[EmailMessage]:
    return [part for message in messages for part in message.walk() if not part.is_multipart()]


@pytest.fixture(scope="module")
def labelled(inbox: list[Drawn], messages: list[EmailMessage]) -> dict[str, list[EmailMessage]]:
    pairs = list(zip(inbox, messages, strict=True))
    return {label: [message for drawn, message in pairs if drawn.label == label] for label in ("ham", "spam")}


@pytest.fixture(scope="module")
def texts(labelled: dict[str, list[EmailMessage]]) -> dict[str, str]:
    return {
        label: "\n".join(decoded(part) for message in own for part in message.walk() if is_text(part))
        for label, own in labelled.items()
    }


def is_text(part: EmailMessage) -> bool:
    return part.get_content_maintype() == "text"


def decoded(part: EmailMessage) -> str:
    raw = part.get_payload(decode=True)
    assert isinstance(raw, bytes)
    return raw.decode(part.get_content_charset("ascii"))


def test_the_same_seed_draws_the_same_bytes():
    assert list(draw(200, seed=3)) == list(draw(200, seed=3))


def test_two_inboxes_drawn_in_turn_do_not_disturb_each_other():
    pairs = zip(draw(50, seed=3), draw(50, seed=4), strict=True)
    assert [first for first, _ in pairs] == list(draw(50, seed=3))


def test_other_seeds_draw_other_mail():
    assert not {drawn.raw for drawn in draw(100, seed=3)} & {drawn.raw for drawn in draw(100, seed=4)}


def test_a_longer_inbox_starts_with_the_shorter_one():
    assert list(draw(120, seed=5))[:40] == list(draw(40, seed=5))


def test_mail_is_drawn_only_as_it_is_asked_for():
    endless = draw(10**12)
    assert len(list(itertools.islice(endless, 5))) == 5


def test_no_message_no_inbox():
    assert list(draw(0)) == []


@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 1.0])
def test_labels_have_about_the_share_asked_for(share: float):
    spam = sum(drawn.label == "spam" for drawn in draw(1000, seed=1, spam_share=share))
    assert abs(spam / 1000 - share) <= 4 * (share * (1 - share) / 1000) ** 0.5


def test_an_impossible_inbox_is_refused_at_once():
    with pytest.raises(
        ValueError, match=r"cannot draw 5 messages with spam share 1\.5: use n >= 0 and a share from 0 to 1"
    ):
        draw(5, spam_share=1.5)
    with pytest.raises(ValueError, match="cannot draw -1 messages"):
        draw(-1)


def test_no_message_has_a_defect(messages: list[EmailMessage]):
    for message in messages:
        for part in message.walk():
            assert part.defects == []
            assert [value.defects for value in part.values()] == [()] * len(part.values())


def test_lines_end_in_lf_and_keep_to_the_limit_of_rfc_5322(inbox: list[Drawn]):
    for drawn in inbox:
        assert b"\r" not in drawn.raw
        assert max(map(len, drawn.raw.split(b"\n"))) <= 998


def test_every_text_decodes_in_its_charset(parts: list[EmailMessage]):
    assert all(decoded(part).strip() for part in parts if is_text(part))


def test_text_that_is_not_declared_otherwise_is_ascii(inbox: list[Drawn], messages: list[EmailMessage]):
    bare = [drawn for drawn, message in zip(inbox, messages, strict=True) if "MIME-Version" not in message]
    assert bare
    assert all(drawn.raw.isascii() and b"Content-" not in drawn.raw.split(b"\n\n")[0] for drawn in bare)


def test_every_message_has_the_fields_mail_has(messages: list[EmailMessage]):
    for message in messages:
        for name in ("Message-ID", "Date", "From", "To", "Subject"):
            assert len(message.get_all(name, [])) == 1
        assert len(message.get_all("Received", [])) == 2


def test_message_ids_are_unique(messages: list[EmailMessage]):
    assert len({message["Message-ID"] for message in messages}) == len(messages)


def test_dates_never_go_backwards(messages: list[EmailMessage]):
    dates = [message["Date"].datetime for message in messages]
    assert all(earlier <= later for earlier, later in itertools.pairwise(dates))
    assert dates[0] < dates[-1]


def test_charsets_and_encodings_all_occur(parts: list[EmailMessage]):
    bodies = [part for part in parts if is_text(part)]
    charsets = Counter(part.get_content_charset("us-ascii") for part in bodies)
    encodings = Counter(part.get("Content-Transfer-Encoding", "7bit") for part in bodies)
    wanted = {"us-ascii", "utf-8", "iso-8859-1", "windows-1252", "koi8-r", "iso-2022-jp", "gb18030"}
    assert {charset for charset, count in charsets.items() if count >= 5} == wanted
    assert set(encodings) == {"7bit", "8bit", "quoted-printable", "base64"}


@pytest.mark.parametrize("label", ["ham", "spam"])
def test_the_shapes_of_mail_all_occur_in_both_labels(label: str, labelled: dict[str, list[EmailMessage]]):
    own = labelled[label]
    shapes = {"text/plain", "text/html", "multipart/alternative", "multipart/mixed"}
    assert {message.get_content_type() for message in own} == shapes
    files = {file.get_content_type() for message in own for file in message.iter_attachments() if file.get_filename()}
    assert {"application/pdf", "application/zip"} < files


@pytest.mark.parametrize("label", ["ham", "spam"])
@pytest.mark.parametrize(
    "word",
    ["guten", "bonjour", "euros", "кредит", "です", "贷款", "invoice", "loan", "offer", "free", "pills", "watch"],
)
def test_both_labels_share_languages_and_words(label: str, word: str, texts: dict[str, str]):
    assert word in texts[label].lower()


def test_a_modest_share_of_mail_is_not_english(messages: list[EmailMessage]):
    letters = re.compile(r"[äöüßéèêàçñóíáúÀ-Ýа-яё぀-ヿ一-鿿]")
    foreign = sum(bool(letters.search(f"{message['From']} {message['Subject']}")) for message in messages)
    assert 0.08 < foreign / len(messages) < 0.2


def test_headers_use_both_kinds_of_encoded_words(inbox: list[Drawn]):
    heads = [drawn.raw.split(b"\n\n")[0] for drawn in inbox]
    for mark in (b"Subject: =?utf-8?B?", b"Subject: =?utf-8?Q?", b"From: =?koi8-r?", b"From: =?utf-8?B?"):
        assert any(mark in head for head in heads)


def test_replies_answer_a_message_drawn_before(messages: list[EmailMessage]):
    seen: set[str] = set()
    replies = 0
    for message in messages:
        if "In-Reply-To" in message:
            assert message["In-Reply-To"] in seen
            assert set(message["References"].split()) <= seen
            assert message["References"].split()[-1] == message["In-Reply-To"]
            assert message["Subject"].startswith("Re: ")
            replies += 1
        seen.add(message["Message-ID"])
    assert replies > 50


def test_a_reply_quotes_the_message_it_answers(messages: list[EmailMessage]):
    known = {message["Message-ID"]: message for message in messages}
    for message in messages:
        body = message.get_body(("plain",))
        if "In-Reply-To" in message and body:
            earlier = known[message["In-Reply-To"]]
            assert f"{earlier['From'].addresses[0].display_name}" in body.get_content()
            assert "\n> " in body.get_content()


def test_newsletters_builds_lists_and_invitations_occur_in_ham(labelled: dict[str, list[EmailMessage]]):
    ham = labelled["ham"]
    newsletters = [message for message in ham if "List-Unsubscribe" in message]
    assert newsletters
    assert all(message.get_body(("html",)) for message in newsletters)
    assert any(message["Auto-Submitted"] == "auto-generated" for message in ham)
    assert any(message["List-Id"] == "<dev.lists.example.org>" for message in ham)
    assert any(part.get_content_type() == "text/calendar" for message in ham for part in message.walk())
    assert any("order" in message["Subject"].lower() for message in ham)


def test_phishing_shows_one_address_and_leads_to_another(texts: dict[str, str]):
    links = re.findall(r'<a href="https?://([^/"]+)[^>]*>https://([^/<]+)', texts["spam"])
    assert any("harbourlight.example" in shown and "harbourlight" not in target for target, shown in links)


def test_campaigns_come_and_go(labelled: dict[str, list[EmailMessage]]):
    assert len(ENGLISH_SPAM) >= 10
    brands = {brand: topic.name for topic in ENGLISH_SPAM for brand in topic.brands}
    seen: dict[str, set[int]] = {}
    for place, message in enumerate(labelled["spam"]):
        campaign = brands.get(message["From"].addresses[0].display_name)
        if campaign:
            seen.setdefault(campaign, set()).add(place * 10 // len(labelled["spam"]))
    assert len(seen) >= 8
    assert any(min(tenths) >= 3 for tenths in seen.values())
    assert any(max(tenths) < 9 for tenths in seen.values())


def test_spam_wears_disguises(texts: dict[str, str]):
    assert "\u200b" in texts["spam"]
    assert re.search(r"\b[A-Za-z]+[013][a-z]+\b", texts["spam"])
    assert re.search(r"\b(\w[-. _]){5,}\w\b", texts["spam"])


def test_every_language_has_a_campaign():
    assert set(SPAM) == {"english", "german", "french", "spanish", "russian", "japanese", "chinese"}


def test_all_hosts_and_addresses_are_reserved_ones(inbox: list[Drawn], texts: dict[str, str]):
    heads = "\n".join(drawn.raw.split(b"\n\n")[0].decode("ascii") for drawn in inbox)
    heads = re.sub(r"(?m)^Subject: .*$", "", heads)
    hosts = re.findall(r"@([\w.-]*\w)", heads) + re.findall(r"(?:https?://|mailto:\w+@)([\w.-]*\w)", str(texts))
    hosts += re.findall(r"(?:from|by) ([a-z][\w.-]*) ", heads) + re.findall(r"\(([\w.-]+) \[", heads)
    assert len(set(hosts)) > 200
    assert {host for host in hosts if not RESERVED.search(host) and host != "unknown"} == set()
    assert all(DOCUMENTATION.match(address) for address in re.findall(r"\b\d+\.\d+\.\d+\.\d+\b", heads))


def test_some_letters_are_written_by_both_labels_alike(labelled: dict[str, list[EmailMessage]]):
    subjects = [{str(message["Subject"]) for message in own} for own in labelled.values()]
    assert len(subjects[0] & subjects[1]) >= 5
