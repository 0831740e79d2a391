"""The API does what its documentation says: the OpenAPI document, and the guide with its commands."""

import json
import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

import requirements
from command import priory
from http_client import Client
from priory.demo import Drawn, draw
from priory.filter.options import SpoolLimits
from priory.filter.spool import Spool
from priory.server.tokens import SCOPES, issue
from real_daemon import HTTP, Daemon, serving

pytestmark = pytest.mark.slow

GUIDE = (Path(__file__).parents[3] / "docs" / "api.md").read_text()
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
ABOUT_MAIL = ("check", "explain", "learn", "forget")
ASKED_LESSONS = ("messages", "messages/export", "messages/suspects")
ABOUT_LESSONS = (*ASKED_LESSONS, *(f"messages/{act}" for act in ("forget", "confirm", "doubt", "relearn")))
ABOUT_IT = ("stats", "costs", "models", "history", "calibration", "drift")
COSTS = [("PUT", "/v1/costs"), ("POST", "/v1/costs/preview")]
COMPARISONS = [
    ("POST", "/v1/evaluate"),
    ("GET", "/v1/evaluate"),
    ("DELETE", "/v1/evaluate/{id}"),
    *(("GET", f"/v1/evaluate/{{id}}{part}") for part in ("", "/events", "/report", "/report.json")),
]
QUESTIONS = [
    ("GET", "/v1/ask"),
    ("POST", "/v1/ask/{digest}"),
    ("DELETE", "/v1/ask/{digest}"),
    ("POST", "/v1/ask/{digest}/undo"),
]
RULES = [(method, "/v1/rules") for method in ("GET", "POST", "DELETE")]
LESSONS = [("GET" if each in ASKED_LESSONS else "POST", f"/v1/{each}") for each in ABOUT_LESSONS]
ROUTES = [
    *(("GET", path) for path in ("/healthz", "/metrics", *(f"/v1/{name}" for name in ABOUT_IT))),
    *(("POST", f"/v1/{name}") for name in ABOUT_MAIL),
    *QUESTIONS,
    *LESSONS,
    *RULES,
    *COSTS,
    *COMPARISONS,
]

schemathesis.openapi.media_type("message/rfc822", st.sampled_from([drawn.raw for drawn in draw(9)]) | st.binary())


@schemathesis.serializer("message/rfc822")
def as_it_came(_context: object, raw: bytes) -> bytes:
    return raw


@pytest.fixture(scope="module")
def daemon(lessons: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    home = Path(shutil.copytree(lessons, tmp_path_factory.mktemp("documented") / "home"))
    with serving(home, HTTP + '[ask]\nspool = "5 MB"\n') as running:
        yield running
        assert running.n_logged("error") == 0


@pytest.fixture(scope="module")
def document(daemon: Daemon) -> dict[str, Any]:
    document: dict[str, Any] = Client(daemon.port, issue(daemon.home, "check")).get("/openapi.json").json
    return document


def operations(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        yield from ((f"{method.upper()} {path}", operation) for method, operation in methods.items())


@pytest.mark.parametrize(
    ("method", "path", "mode"),
    [
        *((*route, GenerationMode.POSITIVE) for route in ROUTES),
        *(("POST", f"/v1/{name}", GenerationMode.NEGATIVE) for name in ("learn", "forget")),
        ("GET", "/v1/history", GenerationMode.NEGATIVE),
        *((*route, GenerationMode.NEGATIVE) for route in (*QUESTIONS, *LESSONS, *RULES, *COSTS, COMPARISONS[0])),
    ],
)
def test_every_answer_is_as_documented(
    method: str, path: str, mode: GenerationMode, daemon: Daemon, document: dict[str, Any]
):
    schema = schemathesis.openapi.from_dict(document)
    schema.config.update(base_url=f"http://127.0.0.1:{daemon.port}")
    tokens = [*(issue(daemon.home, scope) for scope in SCOPES), "priory_none"]

    n_examples = 4 if (method, mode) == ("PUT", GenerationMode.POSITIVE) else 12  # each has the daemon reload

    @settings(
        max_examples=n_examples,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=schema[path][method].as_strategy(generation_mode=mode))
    def asked(case: schemathesis.Case) -> None:
        for token in tokens:
            case.call_and_validate(headers={"Authorization": f"Bearer {token}"}, checks=CHECKS)

    asked()


def test_every_answer_about_a_comparison_is_as_documented(daemon: Daemon, document: dict[str, Any]):
    schema = schemathesis.openapi.from_dict(document)
    schema.config.update(base_url=f"http://127.0.0.1:{daemon.port}")
    client = Client(daemon.port, issue(daemon.home, "admin"))

    def end_all() -> None:
        for each in client.get("/v1/evaluate").json["evaluations"]:
            client.ask("DELETE", f"/v1/evaluate/{each['id']}")
        daemon.wait_until(lambda: all(each["ended"] for each in client.get("/v1/evaluate").json["evaluations"]))

    def asked(method: str, path: str = "", id_: str = "", **body: object) -> Any:
        parts: dict[str, Any] = {"path_parameters": {"id": id_}} if id_ else {"body": body}
        case = schema["/v1/evaluate" + ("/{id}" if id_ else "") + path][method].Case(**parts)
        return case.call_and_validate(headers={"Authorization": f"Bearer {client.token}"}, checks=CHECKS)

    end_all()  # others may have begun some
    quick = asked("POST", models=["bernoulli"], folds=2).json()["id"]
    assert asked("GET", "/events", quick).status_code == 200  # until its end, if the daemon is not reloaded meanwhile
    daemon.wait_until(lambda: client.get(f"/v1/evaluate/{quick}").json["ended"])
    for path in ("/events", "", "/report", "/report.json"):
        assert asked("GET", path, quick).status_code == 200
    assert asked("DELETE", "", quick).status_code == 204
    long = asked("POST", nested=True).json()["id"]
    assert asked("POST").status_code == 409
    assert asked("GET", "/report", long).status_code == 409
    assert asked("DELETE", "", long).status_code == 202
    end_all()


def test_every_route_was_tried_and_says_which_scope_it_takes(document: dict[str, Any]):
    assert {name for name, _ in operations(document)} == {" ".join(route) for route in ROUTES}
    scopes = {name: operation.get("security") for name, operation in operations(document)}
    assert scopes.pop("GET /healthz") is None
    assert document["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    documented = dict(re.findall(r"^\| `(.*?)` \| (\w+) \|", GUIDE, re.MULTILINE))
    assert scopes == {name: [{"token": [documented[name]]}] for name in scopes}
    assert set(documented) == {*scopes, "GET /healthz", "GET /openapi.json"}


def test_every_route_has_an_example_of_what_it_takes(document: dict[str, Any]):
    for name, operation in operations(document):
        content = operation.get("requestBody", {}).get("content", {})
        assert ("multipart/form-data" in content) == (name in {"POST /v1/check", "POST /v1/learn"})
        for kind, each in content.items():
            assert each["example"] or kind == "multipart/form-data"


def test_the_commands_of_the_guide_do_what_it_says(daemon: Daemon, mail: list[Drawn], tmp_path: Path):
    requirements.program("curl")
    (tmp_path / "message.eml").write_bytes(mail[0].raw)
    Spool(daemon.home, SpoolLimits(5_000_000)).keep(mail[0].raw, 4.0)
    for name, some in (("inbox.mbox", mail[1:3]), ("junk.mbox", mail[3:6])):
        (tmp_path / name).write_bytes(b"\n".join(b"From ann\n" + drawn.raw.rstrip() + b"\n" for drawn in some))
    for name, scope in (("token", "learn"), ("admin", "admin")):
        (tmp_path / name).write_text(f"Authorization: Bearer {issue(daemon.home, scope)}")
    digest = json.loads(priory("check", "--json", tmp_path / "message.eml", home=daemon.home).stdout)["digest"]
    known = {"PATH": "/usr/bin:/bin", "DIGEST": digest}
    answers: dict[str, list[Any]] = defaultdict(list)  # by route
    for command in re.findall(r"^curl .*$", GUIDE, re.MULTILINE):
        done = subprocess.run(
            ["/bin/sh", "-c", command.replace("127.0.0.1:7358", f"127.0.0.1:{daemon.port}")],
            cwd=tmp_path,
            env=known,
            capture_output=True,
            check=True,
        )
        answer = json.loads(done.stdout) if done.stdout.startswith(b"{") else done.stdout.decode()
        answers[re.findall(r":7358/(?:v1/)?([^?'\" ]+)", command)[0]].append(answer)
        if "evaluate" in answers:
            known["ID"] = answers["evaluate"][0]["id"]
    (check, several), explained, (learn, many_learned), forgets = (answers[each] for each in ABOUT_MAIL)
    assert [check["digest"], *(answer["digest"] for answer in explained)] == [digest] * 3
    assert ["lessons" in answer for answer in explained] == [False, True]
    assert [each["outcome"] for each in (learn, *forgets)] == ["learned", "forgotten", "unknown"]
    assert [each["source"] for each in several["messages"]] == ["inbox.mbox:1", "inbox.mbox:2", "message.eml"]
    assert [each["outcome"] for each in many_learned["messages"]] == ["learned"] * 3
    (page,), (many,), (suspects,) = (answers[each] for each in ("messages", "messages/forget", "messages/suspects"))
    assert page["total"] == len(page["lessons"]) < 12
    assert (tmp_path / "lessons.csv").read_text().startswith("time,label,user,")
    assert many["detail"] == f"The selection contains {page['total']} lessons, not 12: nothing was forgotten."
    assert suspects["reason"] == ""
    assert [each["outcome"] for each in answers["messages/relearn"] + answers["messages/confirm"]] == ["unknown"] * 2
    assert answers["ask"][0]["reason"] == ""
    taught_above, skipped = answers["ask/$DIGEST"]
    (undone,) = answers["ask/$DIGEST/undo"]
    assert [taught_above["status"], undone["outcome"], skipped["outcome"]] == [404, "undone", "skipped"]
    (history,), (calibration,), (drift,) = (answers[each] for each in ("history", "calibration", "drift"))
    assert sum(step["checked"].get("http", {}).get(check["label"], 0) for step in history["steps"]) >= 1
    assert calibration["n"] == drift["n"] > 0
    assert [answer["outcome"] for answer in answers["rules"][:2]] == ["set", "set"]
    listed, removed = answers["rules"][2:]
    assert {"allow sender ann@mail.example", "ignore word backlinks"} <= {rule["rule"] for rule in listed["rules"]}
    assert removed == {"outcome": "removed", "rule": "ignore word backlinks"}
    costs, set_costs = answers["costs"]
    (tried,) = answers["costs/preview"]
    assert costs["labels"] == tried["labels"] == ["ham", "spam"]
    assert tried["then"]["words"].startswith(
        "The filter says unsure from a probability of 0.4, spam from 0.984: of 1,000 ham, "
    )
    (started,), (events,) = answers["evaluate"], answers["evaluate/$ID/events"]
    assert started["state"] == "running"
    assert "\nevent: end\n" in events
    assert "<title>lessons of " in (tmp_path / "report.html").read_text()
    assert answers["evaluate/$ID"] == [""]
    (refused,) = answers["stats"]
    for shown in (set_costs, refused):
        assert json.dumps(shown, ensure_ascii=False, separators=(",", ":")) in GUIDE
