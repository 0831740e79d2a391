"""The routes to people's rules: list, set and remove them."""

from typing import Annotated, Final

from fastapi import APIRouter, Query, Response
from pydantic import Field
from typing_extensions import TypedDict

from priory.filter.rule_text import MOST_CHARACTERS, make_rule, rule_key
from priory.journal import RuleEffect, RuleThing
from priory.processes.log import log
from priory.server.http.answers import answer_of, closed
from priory.server.http.auth import needs
from priory.server.http.filters import Filters
from priory.server.http.parameters import User, label_parameter
from priory.server.http.responses import document_answer, document_problems, json_bytes, json_response
from priory.server.http.state import Daemon
from priory.server.tokens import Token

_ERRORS: Final = document_problems(422, 503)
_Whose = Annotated[User | None, Query(description="List only this user's rules; empty: those for everyone.")]
_Thing = Annotated[RuleThing, Query(description="What the rule is about.")]
_Text = Annotated[
    str,
    Query(
        description="The address, domain, List-Id, words or header.",
        min_length=1,
        max_length=MOST_CHARACTERS,
        examples=["ann@mail.example"],
    ),
]


@closed
class RuleAnswer(TypedDict):
    """A rule: what a thing in mail counts."""

    rule: Annotated[str, Field(description="The rule in words.", examples=["allow sender ann@mail.example"])]
    effect: Annotated[str, Field(description="ignore, allow, block or towards", examples=["allow"])]
    label: Annotated[str, Field(description="The label of the effect towards, or empty.", examples=[""])]
    thing: Annotated[str, Field(examples=["sender"])]
    text: Annotated[str, Field(description="Normalised.", examples=["ann@mail.example"])]
    user: Annotated[str, Field(description="The user whose mail it is for; empty: everyone.", examples=["ann"])]
    time: Annotated[str, Field(description="When it was set (ISO 8601).", examples=["2026-11-01T09:30:00.250+00:00"])]
    author: Annotated[str, Field(description="The account, or the token, that set it.", examples=["token 3f9a01c2"])]


@closed
class RulesAnswer(TypedDict):
    """The rules: those for everyone, then those of each user."""

    rules: list[RuleAnswer]


@closed
class RuleChangeAnswer(TypedDict):
    """The outcome of setting or removing a rule. It is durable, and counts from the next check on."""

    outcome: Annotated[
        str,
        Field(
            description="set, replaced (an earlier rule about the same thing), known, removed, or unknown if there is "
            "no such rule",
            examples=["set"],
        ),
    ]
    rule: Annotated[str | None, Field(examples=["allow sender ann@mail.example"])]


def rule_routes(daemon: Daemon, filters: Filters) -> APIRouter:
    """Return the routes to list, set and remove rules."""
    router = APIRouter(tags=["rules"])
    labels = daemon.options.labels
    Label = label_parameter(labels)  # noqa: N806 - a type

    @router.get("/rules", dependencies=[needs("check")], responses=document_answer(RulesAnswer) | _ERRORS)
    async def rules(user: _Whose = None) -> Response:
        """List the rules of all users and for everyone, or of one user."""
        every = await filters.search(lambda filter_: filter_.rules.every() if user is None else filter_.rules.of(user))
        answers = [answer_of(RuleAnswer, rule.as_dict()) for rule in every]
        return json_response(json_bytes(RulesAnswer(rules=answers)))

    @router.post("/rules", responses=document_answer(RuleChangeAnswer) | _ERRORS)
    async def set_rule(  # noqa: PLR0913, PLR0917 - FastAPI makes parameters of them
        token: Annotated[Token, needs("learn")],
        effect: Annotated[RuleEffect, Query(description="What the rule does.")],
        thing: _Thing,
        text: _Text,
        label: Label | None = None,  # type: ignore[valid-type]
        user: User = "",
    ) -> Response:
        """Set a rule; it replaces an earlier one about the same thing. `label` is for the effect *towards* alone."""
        rule = make_rule(effect, thing, text, user=user, label=label or "", author=f"token {token.id}", labels=labels)
        outcome = await filters.teach(lambda filter_: filter_.rules.set(rule))
        log("rule", token=token.id, outcome=outcome.value, effect=rule.effect.value, thing=rule.thing.value)
        return json_response(json_bytes(RuleChangeAnswer(outcome=outcome.value, rule=rule.name)))

    @router.delete("/rules", responses=document_answer(RuleChangeAnswer) | _ERRORS)
    async def remove_rule(
        token: Annotated[Token, needs("learn")], thing: _Thing, text: _Text, user: User = ""
    ) -> Response:
        """Remove the rule about a thing; all verdicts are then as if it had never been."""
        key = rule_key(thing, text, user)
        removed = await filters.teach(lambda filter_: filter_.rules.remove(key))
        outcome = "unknown" if removed is None else "removed"
        log("rule", token=token.id, outcome=outcome, thing=thing.value)
        return json_response(json_bytes(RuleChangeAnswer(outcome=outcome, rule=removed and removed.name)))

    return router
