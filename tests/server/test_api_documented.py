"""The API does what its documentation says: the OpenAPI document, and the guide with its commands."""

import json
import re
import shutil
import subprocess
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

import needed
from command import priory
from http_client import Client
from priory.demo import Drawn, draw
from priory.server.tokens import issue
from real_daemon import Daemon, serving

GUIDE = (Path(__file__).parents[2] / "docs" / "api.md").read_text()
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
ABOUT_MAIL = ("check", "explain", "learn", "forget")
ROUTES = ["/healthz", "/metrics", *(f"/v1/{name}" for name in (*ABOUT_MAIL, "stats", "costs", "models"))]

schemathesis.openapi.media_type("message/rfc822", st.sampled_from([drawn.raw for drawn in draw(9)]) | st.binary())


@schemathesis.serializer("message/rfc822")
def as_it_came(_context: object, raw: bytes) -> bytes:
    return raw


@pytest.fixture(scope="module")
def daemon(lessons: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    home = Path(shutil.copytree(lessons, tmp_path_factory.mktemp("documented") / "home"))
    with serving(home, '[serve]\nworkers = 1\n[http]\nlisten = "127.0.0.1:0"\nrate = 100_000\n') as running:
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
    ("path", "mode"),
    [
        *((path, GenerationMode.POSITIVE) for path in ROUTES),
        *((f"/v1/{name}", GenerationMode.NEGATIVE) for name in ("learn", "forget")),
    ],
)
def test_every_answer_is_as_documented(path: str, mode: GenerationMode, daemon: Daemon, document: dict[str, Any]):
    schema = schemathesis.openapi.from_dict(document)
    schema.config.update(base_url=f"http://127.0.0.1:{daemon.port}")
    (method,) = document["paths"][path]
    tokens = [issue(daemon.home, "check"), issue(daemon.home, "learn"), "priory_none"]

    @settings(
        max_examples=12, deadline=None, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
    )
    @given(case=schema[path][method.upper()].as_strategy(generation_mode=mode))
    def asked(case: schemathesis.Case) -> None:
        for token in tokens:
            case.call_and_validate(headers={"Authorization": f"Bearer {token}"}, checks=CHECKS)

    asked()


def test_every_route_was_tried_and_says_which_scope_it_takes(document: dict[str, Any]):
    assert set(document["paths"]) == set(ROUTES)
    scopes = {name: operation.get("security") for name, operation in operations(document)}
    assert scopes.pop("GET /healthz") is None
    assert document["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    documented = dict(re.findall(r"^\| `(.*?)` \| (\w+) \|", GUIDE, re.MULTILINE))
    assert scopes == {name: [{"token": [documented[name]]}] for name in scopes}
    assert set(documented) == {*scopes, "GET /healthz", "GET /openapi.json"}


def test_every_route_has_an_example_of_what_it_takes(document: dict[str, Any]):
    for name, operation in operations(document):
        if name.startswith("POST"):
            content = operation["requestBody"]["content"]
            assert content["message/rfc822"]["example"].startswith("From: ")
            assert ("multipart/form-data" in content) == (name in ("POST /v1/check", "POST /v1/learn"))


def test_the_commands_of_the_guide_do_what_it_says(daemon: Daemon, mail: list[Drawn], tmp_path: Path):
    needed.program("curl")
    (tmp_path / "message.eml").write_bytes(mail[0].raw)
    for name, some in (("inbox.mbox", mail[1:3]), ("junk.mbox", mail[3:6])):
        (tmp_path / name).write_bytes(b"\n".join(b"From ann\n" + drawn.raw.rstrip() + b"\n" for drawn in some))
    (tmp_path / "token").write_text(f"Authorization: Bearer {issue(daemon.home, 'learn')}")
    digest = json.loads(priory("check", "--json", tmp_path / "message.eml", home=daemon.home).stdout)["digest"]
    commands = re.findall(r"^curl .*$", GUIDE, re.MULTILINE)
    answers = []
    for command in commands:
        done = subprocess.run(
            ["/bin/sh", "-c", command.replace("127.0.0.1:7358", f"127.0.0.1:{daemon.port}")],
            cwd=tmp_path,
            env={"PATH": "/usr/bin:/bin", "DIGEST": digest},
            capture_output=True,
            check=True,
        )
        answers.append(json.loads(done.stdout))
    check, explain, learn, forget, forget_again, several, many, refused = answers
    assert check["digest"] == explain["digest"] == digest
    assert (learn["outcome"], forget["outcome"], forget_again["outcome"]) == ("learned", "forgotten", "unknown")
    assert [each["source"] for each in several["messages"]] == ["inbox.mbox:1", "inbox.mbox:2", "message.eml"]
    assert [each["outcome"] for each in many["messages"]] == ["learned"] * 3
    assert json.dumps(refused, ensure_ascii=False, separators=(",", ":")) in GUIDE
