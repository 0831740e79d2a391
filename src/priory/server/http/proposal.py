"""Costs as programs propose them: for what is said, what each other truth costs; of all labels, none left out."""

from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, create_model

from priory.decision import LARGEST, UNSURE, Costs

Proposal: TypeAlias = BaseModel
_Price = Annotated[float, Field(ge=0, le=LARGEST, allow_inf_nan=False)]


class _Exactly(BaseModel):
    """What has all fields, and no others, of the types that are meant."""

    model_config = ConfigDict(extra="forbid", strict=True)


def proposal_model(labels: tuple[str, ...]) -> type[Proposal]:
    """Return what costs of these labels must look like.

    >>> said = '{"costs": {"ham": {"spam": 10}, "spam": {"ham": 100}, "unsure": 2.5}}'
    >>> costs_of(proposal_model(("ham", "spam")).model_validate_json(said), Costs()).unsure
    2.5
    """
    rows: dict[str, Any] = {
        f"said_{i}": (_row([each for each in labels if each != said]), Field(alias=said))
        for i, said in enumerate(labels)
    }
    unsure = (_Price, Field(alias=UNSURE))
    costs = create_model("Prices", __base__=_Exactly, **rows, said_unsure=unsure)
    return create_model(
        "Proposal",
        __base__=_Exactly,
        costs=(costs, Field(description="For what is said, what each other truth costs.")),
    )


def _row(labels: list[str]) -> type[BaseModel]:
    fields: dict[str, Any] = {f"true_{i}": (_Price, Field(alias=true)) for i, true in enumerate(labels)}
    return create_model("Row", __base__=_Exactly, **fields)


def costs_of(proposal: Proposal, now: Costs) -> Costs:
    """Return the costs that are proposed in place of others."""
    prices = proposal.model_dump(by_alias=True)["costs"]
    return now.with_prices(lambda said, true, _: prices[said][true], prices[UNSURE])
