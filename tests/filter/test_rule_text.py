"""What may be a rule, and which messages match it."""

from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from priory.features import Spec
from priory.filter.prepare import prepare
from priory.filter.rule_matching import RuleBook
from priory.filter.rule_places import ignored_shares
from priory.filter.rule_text import make_rule, rule_key
from priory.journal import Rule, RuleEffect, RuleError, RuleThing
from priory.journal.rules import RuleSet


@pytest.mark.parametrize(
    ("thing", "text", "normalised"),
    [
        (RuleThing.SENDER, " Ann Lee <Ann.Lee@Mail.EXAMPLE> ", "ann.lee@mail.example"),
        (RuleThing.SENDER, "ann@Bücher.example", "ann@xn--bcher-kva.example"),
        (RuleThing.DOMAIN, "@Mail.Example.", "mail.example"),
        (RuleThing.DOMAIN, "*.example", "example"),
        (RuleThing.LIST, "Daily <Daily.List.example>", "daily.list.example"),
        (RuleThing.PHRASE, "  «Cheap»   PILLS! ", "cheap» pills"),
        (RuleThing.PHRASE, "优惠 活动", "优惠 活动"),
        (RuleThing.WORD, "Backlinks", "backlinks"),
        (RuleThing.HEADER, "X-Mailer", "x-mailer"),
        (RuleThing.HEADER, "X-Mailer :  Letter\u00a0 BIRD ", "x-mailer: letter bird"),
    ],
)
def test_texts_are_normalised(thing: RuleThing, text: str, normalised: str) -> None:
    key = rule_key(thing, text)
    assert key.text == normalised
    assert rule_key(thing, key.text) == key


@pytest.mark.parametrize(
    ("thing", "text", "says"),
    [
        (RuleThing.SENDER, "ann", "'ann' is not an address: write it like ann@mail.example, or name the domain"),
        (RuleThing.DOMAIN, "a b", "'a b' is not a domain: write it like mail.example"),
        (RuleThing.LIST, "a b", "'a b' is not a mailing list: write its List-Id, like daily.list.example"),
        (RuleThing.PHRASE, "…", "'…' has no word: a word has 2 to 40 letters or digits"),
        (RuleThing.WORD, "cheap pills", "'cheap pills' is not one word: make a rule about the phrase"),
        (RuleThing.HEADER, "Grüße: x", "'Grüße: x' does not begin with the name of a header: write it like "),
        (RuleThing.HEADER, "X-Spam-Status", "the header x-spam-status never counts, so there is nothing to ignore"),
        (RuleThing.PHRASE, "x" * 201, "the phrase has 201 characters: a rule has at most 200"),
        (RuleThing.PHRASE, "a\nb", "'a\\nb' has control characters: give the phrase without them"),
    ],
)
def test_an_error_names_the_thing_and_the_remedy(thing: RuleThing, text: str, says: str) -> None:
    with pytest.raises(RuleError) as error:
        rule_key(thing, text)
    assert str(error.value).startswith(says)


def test_rules_that_make_no_sense_are_refused() -> None:
    for effect, thing in ((RuleEffect.ALLOW, RuleThing.HEADER), (RuleEffect.IGNORE, RuleThing.LIST)):
        with pytest.raises(RuleError):
            make_rule(effect, thing, "x-mailer")
    with pytest.raises(RuleError, match=r"^'nix' is not a label of this filter: name one of ham, spam$"):
        make_rule(RuleEffect.TOWARDS, RuleThing.DOMAIN, "a.example", label="nix", labels=("ham", "spam"))
    with pytest.raises(RuleError, match="cannot be the name of a user"):
        rule_key(RuleThing.DOMAIN, "a.example", "\t")
    assert make_rule(RuleEffect.IGNORE, RuleThing.SENDER, "mail.example").thing is RuleThing.DOMAIN
    assert Rule("", RuleThing.DOMAIN, "x", RuleEffect.ALLOW).as_dict()["rule"] == "allow domain x"


# A rule matches its own text, and no bytes are an error

BITS = Spec(bits=16)
WORDS = st.text(st.characters(exclude_categories=["C"], max_codepoint=0x2FFFF), min_size=1, max_size=60)
LOCAL = st.from_regex(r"[A-Za-z0-9_.+-]{1,20}", fullmatch=True)
DOMAIN = st.from_regex(r"[a-zA-Z0-9]{1,10}(\.[a-zA-Z0-9-]{0,8}[a-z0-9]){0,3}", fullmatch=True)


def matches(rule: Rule, raw: bytes, spec: Spec = BITS) -> bool:
    book = RuleBook(RuleSet("one", (rule,)), spec)
    matched = book.match(prepare(raw, spec), rule.user)
    return rule in matched.decisive + matched.ignored


def normal(effect: RuleEffect, thing: RuleThing, text: str) -> Rule:
    try:
        rule = make_rule(effect, thing, text)
    except RuleError:
        assume(False)
    assert make_rule(effect, rule.thing, rule.text) == rule
    return rule


@settings(deadline=None)
@given(LOCAL, DOMAIN)
def test_a_sender_and_its_domains_match(local: str, domain: str) -> None:
    raw = f'From: "Bob (bob@else.example)" <{local}@{domain}>\n\nHello'.encode()
    assert matches(normal(RuleEffect.ALLOW, RuleThing.SENDER, f"{local}@{domain}".upper()), raw)
    parts = domain.split(".")
    for i in range(len(parts)):
        rule = normal(RuleEffect.BLOCK, RuleThing.DOMAIN, ".".join(parts[i:]).upper())
        assert matches(rule, raw)
        assert not matches(rule._replace(text=f"x{rule.text}"), raw)


@settings(deadline=None)
@given(st.sampled_from(["bücher.example", "пример.example", "例え.example"]), st.booleans())
def test_domains_beyond_ascii_match_in_either_form(domain: str, as_ascii: bool) -> None:
    sent = domain.encode("idna").decode() if as_ascii else domain
    raw = f"From: ann@{sent}\n\nHello".encode()
    assert matches(normal(RuleEffect.ALLOW, RuleThing.DOMAIN, domain.upper()), raw)
    assert matches(normal(RuleEffect.ALLOW, RuleThing.SENDER, f"Ann@{domain}"), raw)


@settings(deadline=None)
@given(
    WORDS,
    st.sampled_from([RuleThing.PHRASE, RuleThing.WORD]),
    st.sampled_from([BITS, replace(BITS, kinds=frozenset({"link"}))]),
)
def test_words_match_in_text_and_subject(text: str, thing: RuleThing, spec: Spec) -> None:
    rule = normal(RuleEffect.IGNORE, thing, text)
    head = b"Content-Type: text/plain; charset=utf-8\n"
    assert matches(rule, head + b"\nSay " + rule.text.encode() + b" to all", spec)
    assert matches(rule, head + f"Subject: Say {rule.text} to all\n\nHello".encode(), spec)
    assert not matches(rule, head + b"Subject: xyzzy\n\nxyzzy", spec) or "xyzzy" in rule.text


@settings(deadline=None)
@given(st.from_regex(r"[a-zA-Z0-9._+=-]{1,40}", fullmatch=True), st.sampled_from(["{}", "<{}>", "Daily news <{}>"]))
def test_a_list_matches(identifier: str, form: str) -> None:
    rule = normal(RuleEffect.ALLOW, RuleThing.LIST, identifier)
    assert matches(rule, f"List-Id: {form.format(identifier)}\n\nHello".encode())
    assert not matches(rule, b"List-Id: <other-list>\n\nHello") or identifier == "other-list"


@settings(deadline=None)
@given(st.from_regex(r"X-[A-Za-z]{1,10}", fullmatch=True), st.from_regex(r"[a-zA-Z0-9 ./;-]{0,40}", fullmatch=True))
def test_a_header_matches(name: str, value: str) -> None:
    raw = f"{name}: Some {value} here\n\nHello".encode()
    for text in (name, f"{name}: {value}"):
        assert matches(normal(RuleEffect.IGNORE, RuleThing.HEADER, text), raw)
    assert not matches(normal(RuleEffect.IGNORE, RuleThing.HEADER, f"{name}: #"), raw)


EVERY_RULE = tuple(
    make_rule(RuleEffect.IGNORE if thing in {RuleThing.WORD, RuleThing.HEADER} else RuleEffect.BLOCK, thing, text)
    for thing, text in (
        (RuleThing.SENDER, "ann@mail.example"),
        (RuleThing.DOMAIN, "example"),
        (RuleThing.LIST, "daily.list.example"),
        (RuleThing.PHRASE, "cheap pills"),
        (RuleThing.WORD, "pills"),
        (RuleThing.WORD, "优惠"),
        (RuleThing.HEADER, "subject"),
        (RuleThing.HEADER, "from: mail.example"),
    )
)
PIECES = st.sampled_from(
    [
        b"From: ann@mail.example\n",
        b"List-Id: <daily.list.example>\n",
        b"Subject: ",
        b"pills",
        b"cheap ",
        b"\n",
        b"=?utf-8?q?",
        b"From: <@mail.example>\n",
        b"\xff",
        b"Content-Type: text/html\n\n",
        b"<p>",
        b"\0",
        "优惠".encode(),
    ]
)


@settings(deadline=None)
@given(st.lists(PIECES | st.binary(max_size=20), max_size=20).map(b"".join))
def test_no_bytes_are_an_error(raw: bytes) -> None:
    message = prepare(raw, BITS)
    matched = RuleBook(RuleSet("one", EVERY_RULE), BITS).match(message, "")
    for ignored in ignored_shares(message.features, [rule for rule in EVERY_RULE if rule.thing is not RuleThing.LIST]):
        assert all(0 < share <= 1 for share in ignored.shares.values())
    assert set(matched.decisive + matched.ignored) <= set(EVERY_RULE)


def test_a_phrase_is_words_in_a_row() -> None:
    rule = make_rule(RuleEffect.BLOCK, RuleThing.PHRASE, "cheap pills")
    assert matches(rule, b"\nCheap, PILLS!")
    assert matches(rule, b"Content-Type: text/html\n\n<p>cheap <b>pills</b>")
    for text in (b"cheap red pills", b"pills cheap", b"cheap pillsbury", b"cheap"):
        assert not matches(rule, b"\n" + text)


def test_headers_far_down_are_seen() -> None:
    raw = b"".join(b"X-Trace-%d: %s\n" % (i, b"x" * 300) for i in range(60)) + b"List-Id: <daily.list.example>\n\nHello"
    assert matches(make_rule(RuleEffect.ALLOW, RuleThing.LIST, "daily.list.example"), raw)
