"""Tokens: the command makes, lists and revokes them, and no file has the secret."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from command import PRIORY, priory
from priory.server.tokens import SCOPES, TokenError, Tokens, issue, read_tokens, revoke, tokens_path


def test_a_token_is_printed_once_and_kept_as_a_digest(tmp_path: Path):
    said = priory("token", "--scope", "learn", "--name", "web mail", home=tmp_path).stdout.decode()
    assert re.fullmatch(r"priory_[\w-]{43}\n", said)
    kept = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert said.strip().encode() not in kept
    assert said.strip()[7:].encode() not in kept
    (token,) = read_tokens(tmp_path)
    assert (token.scope, token.name) == ("learn", "web mail")
    assert Tokens(tmp_path).find(said.strip()) == token
    assert [oct(file.stat().st_mode & 0o777) for file in tmp_path.iterdir()] == ["0o600"] * 2


def test_tokens_are_listed_without_themselves_and_revoked(tmp_path: Path):
    made = {scope: issue(tmp_path, scope, f"for {scope}\x1b[2J") for scope in SCOPES}
    ids = [token.id for token in read_tokens(tmp_path)]
    for options in ([], ["--json"]):
        shown = priory("token", "--list", *options, home=tmp_path).stdout.decode()
        assert "\x1b" not in shown
        assert all(id_ in line for id_, line in zip(ids, shown.splitlines(), strict=True))
        assert not any(
            secret in shown or token.sha256 in shown for secret in made.values() for token in read_tokens(tmp_path)
        )
    first = json.loads(priory("token", "--list", "--json", home=tmp_path).stdout.splitlines()[0])
    assert set(first) == {"id", "scope", "name", "use", "created", "until"}
    assert priory("token", "--revoke", ids[1], home=tmp_path).stdout.decode() == f"revoked {ids[1]}\n"
    assert [token.id for token in read_tokens(tmp_path)] == [ids[0], ids[2]]
    known = Tokens(tmp_path)
    assert [known.find(secret) is not None for secret in made.values()] == [True, False, True]
    again = priory("token", "--revoke", ids[1], home=tmp_path)
    assert again.returncode == 1
    assert again.stderr.decode() == f"priory: there is no token {ids[1]}; list all with: priory token --list\n"


def test_a_scope_includes_those_before_it(tmp_path: Path):
    for scope in SCOPES:
        issue(tmp_path, scope)
    allowed = [[token.allows(scope) for scope in SCOPES] for token in read_tokens(tmp_path)]
    assert allowed == [[True, False, False], [True, True, False], [True, True, True]]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "token needs one of --scope SCOPE (create a token), --list and --revoke ID"),
        (["--list", "--scope", "check"], "token needs one of"),
        (["--list", "--name", "x"], "--name is for a new token: add --scope"),
        (["--list", "--home", "/no/such/home"], "there is no folder /no/such/home"),
    ],
)
def test_what_cannot_be_meant_is_said_in_a_line(arguments: list[str], said: str, tmp_path: Path):
    done = priory("token", *arguments, home=tmp_path)
    assert done.returncode == 1
    assert done.stderr.decode().startswith(f"priory: {said}")
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("content", [b"", b"{}", b"[1]", b'{"tokens": [1]}', b'{"tokens": [{"id": "1"}]}', b"\xff"])
def test_a_file_that_holds_no_tokens_opens_nothing_and_is_left_as_it_is(content: bytes, tmp_path: Path):
    tokens_path(tmp_path).write_bytes(content)
    with pytest.raises(TokenError, match=r"is not a file of tokens. Remove it, and make new tokens"):
        Tokens(tmp_path).find("priory_x")
    done = priory("token", "--scope", "check", home=tmp_path)
    assert done.returncode == 1
    assert (
        done.stderr.decode()
        == f"priory: {tmp_path}/tokens.json is not a file of tokens. Remove it, and make new tokens.\n"
    )
    assert tokens_path(tmp_path).read_bytes() == content


def test_a_token_of_unknown_use_is_not_valid_and_is_left_as_it_is(tmp_path: Path):
    secrets = [issue(tmp_path, "admin") for _ in range(2)]
    content = json.loads(tokens_path(tmp_path).read_bytes())
    content["tokens"][0]["use"] = "hook"
    tokens_path(tmp_path).write_text(json.dumps(content))
    known = Tokens(tmp_path)
    assert [known.find(secret) is not None for secret in secrets] == [False, True]
    issue(tmp_path, "check")
    uses = [token["use"] for token in json.loads(tokens_path(tmp_path).read_bytes())["tokens"]]
    assert uses == ["hook", "program", "program"]
    assert priory("token", "--list", home=tmp_path).stdout.count(b"\n") == 3
    assert revoke(tmp_path, content["tokens"][0]["id"])


def test_a_file_with_an_unknown_scope_names_the_remedy(tmp_path: Path):
    issue(tmp_path, "admin")
    tokens_path(tmp_path).write_text(tokens_path(tmp_path).read_text().replace('"admin"', '"owner"'))
    with pytest.raises(TokenError, match=r"scopes that this version of Priory does not know. Use the version that"):
        Tokens(tmp_path).find("priory_x")


def test_what_is_made_and_revoked_counts_at_once(tmp_path: Path):
    known = Tokens(tmp_path)
    assert known.find("priory_x") is None
    secret = issue(tmp_path, "check")
    token = known.find(secret)
    assert token is not None
    assert known.find(secret[:-1]) is known.find("") is known.find(secret + "\udc80") is None
    assert revoke(tmp_path, token.id)
    assert known.find(secret) is None


def test_two_who_make_tokens_at_a_time_lose_none(tmp_path: Path):
    command = [PRIORY, "token", "--scope", "check", "--home", str(tmp_path)]
    makers = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(6)]
    made = [maker.communicate()[0].decode().strip() for maker in makers]
    known = Tokens(tmp_path)
    assert len({token.id for token in read_tokens(tmp_path)}) == 6
    assert all(known.find(secret) for secret in made)
