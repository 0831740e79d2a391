"""Where a journal is that several machines share."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Store:
    """The address of a database, and what this machine is called there."""

    url: str = field(repr=False)  #: may have a password in it
    node: str = ""

    @property
    def name(self) -> str:
        """What messages call it, without the password.

        >>> Store("postgresql://ann:secret@db.example:5433/mail?sslmode=require").name
        'postgresql://ann@db.example:5433/mail'
        """
        scheme, _, rest = self.url.partition("://")
        place, _, path = rest.partition("/")
        who, at, host = place.rpartition("@")
        return f"{scheme}://{who.partition(':')[0]}{at}{host.partition('?')[0]}/{path.partition('?')[0]}"
