"""Where a journal is that several machines share."""

import re
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
        >>> Store("postgresql://ann:se/cr@t@db.example/mail").name
        'postgresql://ann@db.example/mail'
        >>> Store("postgresql://ann:secret").name  # what stands where a port does may be meant otherwise
        'postgresql://ann/'
        """
        scheme, who, at, where = self._parts()
        host, _, path = where.partition("/")
        host = host.partition("?")[0]
        if "[" not in host:  # else it is a number with colons
            host = re.sub(":[0-9]*[^0-9,][^,]*", "", host)
        return f"{scheme}://{re.split('[:/?]', who)[0]}{at}{host}/{path.partition('?')[0]}"

    @property
    def is_torn(self) -> bool:
        """Whether a sign in the password ends it too early, so that the rest would be taken for the host.

        >>> Store("postgresql://ann:se%40cret@db.example/mail").is_torn
        False
        >>> [Store(f"postgresql://ann:{it}@db.example/mail").is_torn for it in ("s@cret", "s/cret")]
        [True, True]
        """
        return bool(re.search("[@/]", self._parts()[1]))

    def _parts(self) -> tuple[str, str, str, str]:
        """What is before ://, who, what is between, and where without settings; a password may be anything."""
        scheme, _, rest = self.url.partition("://")
        place, _, path = rest.partition("/")
        who, at, where = f"{place}/{re.split('[?][a-z_]+=', path)[0]}".rpartition("@")
        return scheme, who, at, where
