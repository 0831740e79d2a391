"""Whether mail servers ask the daemon, for the view *Health*; if none does, how to connect one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from priory.html.builder import Html, element, together
from priory.html.numbers import number

_GUIDES: Final = {
    "Postfix": "postfix",
    "Exim": "exim",
    "Sendmail": "sendmail",
    "Dovecot": "dovecot",
    "Sieve": "sieve",
    "procmail or maildrop": "procmail",
    "a mailbox on a server that is not yours": "imap",
}


@dataclass(frozen=True, slots=True)
class MailServers:
    """Where mail servers can ask the daemon, and how often they have."""

    addresses: Mapping[str, tuple[str, ...]]  #: by protocol, as configured; besides them there is the home's socket
    n_checked: Mapping[str, int]  #: messages since the daemon's start, by protocol; including those of commands

    @property
    def are_silent(self) -> bool:
        """Whether nobody has asked since the start."""
        return not any(self.n_checked.values())

    @property
    def silent_addresses(self) -> str:
        """The configured addresses at which nobody has asked, with their sections in the configuration."""
        return ", ".join(
            f"{address} ([{protocol}])"
            for protocol, addresses in self.addresses.items()
            for address in addresses
            if not self.n_checked[protocol]
        )

    @property
    def in_words(self) -> str:
        """The number of checked messages by protocol."""
        return ", ".join(f"{protocol} {number(n)}" for protocol, n in self.n_checked.items() if n) or "none"


def connection_notices(servers: MailServers) -> list[Html]:
    """Return what is missing between the mail servers and the daemon, and the remedy; nothing if all is well."""
    where = servers.silent_addresses
    if not servers.are_silent:
        words = f"No mail server has asked at {where} since the start of the daemon."
        return [element("p", words, class_="quiet")] if where else []
    if where:
        return [
            _notice(
                f"None has asked at {where} since the start of the daemon. Send yourself a message. If it has no "
                "header X-Priory-Verdict, compare this address with the one in the configuration of your mail server, "
                "and look into its log. The guides say how to connect"
            )
        ]
    return [
        _notice(
            together(
                "Neither ",
                element("code", "[milter]"),
                " nor ",
                element("code", "[spamd]"),
                " of priory.toml has an address, and no program has asked at the socket in the home. Until one does, "
                "the filter judges only what people check here or in the terminal. The guides say how to connect",
            )
        )
    ]


def _notice(words: str) -> Html:
    guides = Html(", ").join(
        together(name, " (", element("code", f"docs/{file}.md"), ")") for name, file in _GUIDES.items()
    )
    finding = element("strong", "No mail server is connected.")
    return element("p", finding, " ", words, ": ", Html(guides), ".", class_="notice")
