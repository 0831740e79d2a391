"""Compares parsers on the same mail: Priory's, `email`, fast-mail-parser; Priory's HTML scanner and selectolax.

    pip install fast-mail-parser selectolax
    PRIORY_CORPORA=~/.cache/priory-corpora python benchmarks/parsers.py

Each parser returns the decoded text parts and headers of every message; three rounds in turns, the median counts.
Parsers that are not installed are left out.
"""

import email
import email.policy
import importlib.util
import os
import statistics
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path

from priory.corpus import read_index
from priory.message import parse
from priory.message.html_scanner import Scan

MESSAGES = 5_000


def standard_library(raw: bytes) -> None:
    message = email.message_from_bytes(raw, policy=email.policy.compat32)
    for part in message.walk():
        if part.get_content_maintype() == "text":
            part.get_payload(decode=True)


def fast_mail_parser(raw: bytes) -> None:
    from fast_mail_parser import parse_email

    mail = parse_email(raw)
    _ = mail.text_plain, mail.text_html, mail.headers


def selectolax(html: str) -> None:
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(html)
    tree.text(separator=" ")
    [(node.attributes.get("href"), node.text()) for node in tree.css("a")]


def scanner(html: str) -> None:
    scan = Scan(html.encode("utf-8", "replace"), 8192)
    _ = scan.visible, scan.links, scan.skeleton


def rates(contenders: dict[str, Callable[[object], object]], inputs: list[object]) -> None:
    times: dict[str, list[float]] = {name: [] for name in contenders}
    refused = dict.fromkeys(contenders, 0)
    for _ in range(3):
        for name, contender in contenders.items():
            refused[name] = 0
            start = time.perf_counter()
            for each in inputs:
                try:
                    contender(each)
                except Exception:
                    refused[name] += 1
            times[name].append(time.perf_counter() - start)
    for name in contenders:
        rate = len(inputs) / statistics.median(times[name])
        print(f"  {name:28}{rate:>10,.0f} /s   refused {refused[name] / len(inputs):.2%}")


def main() -> None:
    corpus = read_index(Path(os.environ["PRIORY_CORPORA"]) / "trec07p/full/index")
    raws = [m.raw for m in islice(corpus, MESSAGES)]
    print(f"messages ({len(raws):,})")
    parsers = {"priory.message.parse (all of it)": parse, "email (standard library)": standard_library}
    if importlib.util.find_spec("fast_mail_parser"):
        parsers["fast-mail-parser"] = fast_mail_parser
    rates(parsers, raws)
    pages = [
        part.get_payload(decode=True).decode("latin-1")
        for raw in raws
        for part in email.message_from_bytes(raw).walk()
        if part.get_content_type() == "text/html"
    ]
    print(f"HTML parts ({len(pages):,})")
    scanners = {"priory.message.html_scanner": scanner}
    if importlib.util.find_spec("selectolax"):
        scanners["selectolax (lexbor)"] = selectolax
    rates(scanners, pages)
    for depth in (2_000, 20_000):
        nested = "<div>" * depth
        for name, contender in scanners.items():
            start = time.perf_counter()
            contender(nested)
            print(f"  {depth:,} nested <div>: {name:24}{1000 * (time.perf_counter() - start):>10,.1f} ms")


if __name__ == "__main__":
    main()
