"""The scanner finds the text that a browser shows, and the targets of links."""

from html import unescape
from html.entities import html5

import pytest
from hypothesis import given
from hypothesis import strategies as st

from priory.message import Link, parse
from priory.message.entities import unescape_entities
from priory.message.html_scanner import Scan


def shown(html: str) -> str:
    return parse(b"Content-Type: text/html; charset=utf-8\n\n" + html.encode()).text


def links(html: str) -> list[tuple[str, str]]:
    message = parse(b"Content-Type: text/html; charset=utf-8\n\n" + html.encode())
    assert all(isinstance(link, Link) for link in message.links)
    return [(link.target, link.text) for link in message.links]


def skeleton(html: str) -> str:
    return parse(b"Content-Type: text/html; charset=utf-8\n\n" + html.encode()).skeleton


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("V<b></b>ia<i>g</i><span class=x>ra</span>", "Viagra"),
        ("V<xyz>ia</xyz>g<!-- x -->r<o:p></o:p>a", "Viagra"),
        ("one<br>two<br/>three<p>four</p>five", "one\ntwo\nthree\nfour\nfive"),
        ("<table><tr><td>one</td><td>two</td></tr><tr><td>three</table>", "one two three\n"),
        ("<ul><li>one<li>two</ul><h1>three</h1><blockquote>four</blockquote>", "one\ntwo\nthree\nfour\n"),
        ("one<img src=x>two<input>three", "one two three"),
        ("  one \n\t two\v three ", "one two three "),
        ("<TITLE>one</TITLE><BODY>two", "one\ntwo"),
    ],
)
def test_words_are_broken_where_a_browser_breaks_them(html, text):
    assert shown(html) == text


@pytest.mark.parametrize(
    "html",
    [
        "one <!-- no -->two",
        "one <!-- no --!>two",
        "one <!-->two",
        "one <!--->two",
        "one <!-- a -- b > no -->two",
        "one <![if mso]>two<![endif]>",
        "one <!DOCTYPE html><?xml no?>two",
        "one </ no>two</>",
        "one <script>no</script>two",
        "one <SCRIPT type='x'>no < no </b> </scrip no</Script >two",
        "one <style>p { no: '<p>' }</style>two",
        "one <noframes><style></noframes>two",
        "one <iframe src=x><script>no</iframe>two",
        "one <!--[if mso]><p>no</p><![endif]-->two",
        "one <a title='>' alt=\"<b>\">two</a>",
    ],
)
def test_what_a_browser_does_not_show_is_dropped(html):
    assert shown(html).split() == ["one", "two"]


def test_titles_and_text_fields_hold_no_tags():
    assert shown("<title>a <style> b</title>c") == "a <style> b\nc"
    assert shown("<textarea><!-- a</textarea>b") == "<!-- a b"


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("a < b <3 c<", "a < b <3 c<"),
        ("1 <= 2 << 3", "1 <= 2 << 3"),
        ("a <b", "a <b"),
        ("a <b c='d", "a <b c='d"),
        ("a <b <i>c", "a c"),
        ("a <!-- b", "a "),
        ("a <script>b", "a "),
        ("a</", "a</"),
    ],
)
def test_what_is_not_closed_ends_somehow(html, text):
    assert shown(html) == text


def test_entities_are_decoded_once():
    assert shown("caf&eacute; &amp;lt; &#8364; &#x20AC; &copy &nosuch; &") == "café &lt; € € © &nosuch; &"
    assert shown("&lt;b&gt;bold&lt;/b&gt;") == "<b>bold</b>"
    assert shown("&#0;&#xd800;&#1114112;") == "���"
    assert shown("&#" + "0" * 100 + "65;") == "A"
    assert shown("a &#" + "6" * 5_000 + "; b") == "a � b"


def test_a_tag_may_be_longer_than_its_text():
    picture = "data:image/png;base64," + "QUJD" * 5_000
    assert shown(f"one <img src='{picture}'> two") == "one two"
    assert links(f"<img src='{picture}'>") == [(picture, "")]
    assert shown("one <p " + "x" * 5_000 + "> two <p " + "y" * 5_000) == "one two "


def test_an_unclosed_quote_ends_with_its_tag():
    assert shown('one <a href="http://a.example>two</a> three' + " four" * 2_000).split()[:4] == [
        "one",
        "two",
        "three",
        "four",
    ]
    assert links('<a href="http://a.example>two</a>') == [("http://a.example", "two")]


@pytest.mark.parametrize(
    ("html", "found"),
    [
        ("<a href=http://a.example/x>one</a>", [("http://a.example/x", "one")]),
        ("<A HREF = 'http://a.example' >one <b>two</b></A> three", [("http://a.example", "one two")]),
        ('<a class="x>y" href="?a=1&amp;b=2">&lt;one&gt;</a>', [("?a=1&b=2", "<one>")]),
        ("<a href=a>one<img src=b>two</a>", [("a", "one two"), ("b", "")]),
        ("<a href=a>one<a href=b>two</a>three</a>", [("a", "one"), ("b", "two")]),
        ("<a href=a>one", [("a", "one")]),
        ("<a name=x>one</a><a>two</a>", []),
        ("<a href=''>one</a>", []),
        ("<form action=a><table background=b><img src=c><td data-href=d>", [("a", ""), ("b", ""), ("c", "")]),
        ("one</a><a href=b>two", [("b", "two")]),
    ],
)
def test_links_have_a_target_and_a_text(html, found):
    assert links(html) == found


def test_links_are_limited():
    assert len(links("<a href=x>y</a>" * 600)) == 500


def test_the_skeleton_is_the_markup_without_the_text():
    assert (
        skeleton("<P CLASS='Big'>one<BR/>two</P><!-- no --><script>x<y</script>")
        == "<p class='big'><br/></p><script></script>"
    )
    assert skeleton("<p\n\t style='x' >") == "<p style='x' >"
    assert skeleton("<p " + "x" * 200 + ">") == "<p " + "x" * 59 + ">"
    assert len(skeleton("<p>" * 10_000)) == 8 * 1024


def test_a_skeleton_may_be_of_no_length():
    scan = Scan(b"<p>one", 0)
    assert (scan.visible, scan.skeleton, scan.links) == (b"one", b"", [])
    assert Scan(b"", 10).visible == b""


ENTITIES = st.one_of(
    st.sampled_from(["&", "#", "x", ";", " ", "é", "<", "&#", "&#x", "&;", "notit", "amp", "\t", "中" * 20]),
    st.tuples(st.sampled_from(sorted(html5)), st.integers(1, 34)).map(lambda name: "&" + name[0][: name[1]]),
    st.tuples(st.sampled_from(["&#%d", "&#x%x", "&#X%X"]), st.integers(0, 0x120000), st.sampled_from(["", ";"])).map(
        lambda number: number[0] % number[1] + number[2]
    ),
)


@given(st.lists(ENTITIES, max_size=6).map("".join))
def test_entities_are_those_of_the_standard_library(text):
    assert unescape_entities(text.encode()).decode() == unescape(text)


def test_an_entity_of_any_length_is_decoded():
    assert unescape_entities(b"&#" + b"9" * 10_000 + b";&#x" + b"0" * 10_000 + b"41;") == "\ufffdA".encode()
