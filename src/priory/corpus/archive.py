"""Reads mail out of a tar archive, compressed or not, without unpacking it to disk.

Members that are not regular files, or hidden (a name or folder beginning with a dot), are left out; a member may
be a message or an mbox, and one that does not look like either is passed over.
"""

import lzma
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import IO

from priory.corpus import file, mbox
from priory.corpus.error import CorpusError
from priory.corpus.raw import opened as opened_file

DAMAGE = (tarfile.TarError, EOFError, OSError, lzma.LZMAError, zlib.error)


def read(path: str) -> Iterator[tuple[str, bytes | None]]:
    r"""Yield source and raw bytes of each message in an archive, in the archive's order.

    A member that is passed over has no bytes.

    >>> import io
    >>> from tempfile import TemporaryDirectory
    >>> mail = b"Subject: lunch?\n\nAt noon.\n"
    >>> member = tarfile.TarInfo("ham/1.eml")
    >>> member.size = len(mail)
    >>> with TemporaryDirectory() as folder:
    ...     path = f"{folder}/mail.tar.xz"
    ...     with tarfile.open(path, "w:xz") as archive:
    ...         archive.addfile(member, io.BytesIO(mail))
    ...     [(source.removeprefix(folder), raw) for source, raw in read(path)]
    [('/mail.tar.xz:ham/1.eml', b'Subject: lunch?\n\nAt noon.\n')]
    """
    with opened(path) as archive:
        for member, stream in files(archive):
            yield from file.found(stream, f"{path}:{member}")


def count(path: str) -> int:
    """Count the messages in one pass over the archive."""
    with opened(path) as archive:
        return sum(file.n_found(stream) for _, stream in files(archive))


@contextmanager
def opened(path: str) -> Iterator[tarfile.TarFile]:
    """Open an archive; damage found while it is read becomes a CorpusError."""
    with opened_file(path) as packed:
        try:
            with tarfile.open(fileobj=packed) as archive:
                yield archive
        except DAMAGE as error:
            why = str(error).partition("\n")[0].rstrip(":")
            advice = "unpack it to see how far it is intact, or fetch it again"
            raise CorpusError(f"the archive {path} is broken: {why}; {advice}") from error


def files(archive: tarfile.TarFile) -> Iterator[tuple[str, IO[bytes]]]:
    """Yield name and contents of each visible regular file, for as long as the next is not asked for."""
    while member := archive.next():
        # tarfile remembers every member, half a kilobyte each, for lookups by name that nobody makes here.
        archive.members.clear()  # type: ignore[attr-defined]  # unknown to typeshed
        stream = archive.extractfile(member) if member.isreg() and is_visible(member.name) else None
        if stream:
            yield member.name.removeprefix("./"), stream
    check_end(archive)


def check_end(archive: tarfile.TarFile) -> None:
    """Raise if the archive stops where it should not: tarfile takes a damaged header for the end.

    At the real end one block of zeros has been read, and what follows it directly is zeros too. The rest is read
    because the checksum of a compressed archive comes last.
    """
    stream = archive.fileobj
    assert stream is not None
    n_read = stream.tell() - archive.offset
    if n_read < tarfile.BLOCKSIZE or any(stream.read(tarfile.BLOCKSIZE)):
        raise tarfile.ReadError(f"neither a file nor the end at byte {archive.offset:,}")
    while stream.read(mbox.BLOCK):
        pass


def is_visible(name: str) -> bool:
    """Tell whether neither a file nor a folder it is in begins with a dot.

    >>> is_visible("./ham/1.eml"), is_visible("ham/.DS_Store")
    (True, False)
    """
    return not any(part.startswith(".") and part != ".." for part in PurePosixPath(name).parts)
