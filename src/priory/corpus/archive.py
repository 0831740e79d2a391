"""Reads mail out of a tar archive, compressed or not, without unpacking it to disk.

Hidden members (a name or folder beginning with a dot) and members that are not regular files are left out. A member may
be a message or an mbox; one that does not look like either is passed over.
"""

import lzma
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import IO

from priory.corpus import mail_file, mbox
from priory.corpus.storage import CorpusError, open_file

DAMAGE = (tarfile.TarError, EOFError, OSError, lzma.LZMAError, zlib.error)


def read(path: str) -> Iterator[tuple[str, bytes | None]]:
    r"""Yield source and raw bytes of each message in an archive, in the archive's order.

    A member that does not look like mail has None for bytes.

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
    with open_archive(path) as archive:
        for member, stream in files(archive):
            yield from mail_file.read_found(stream, f"{path}:{member}")


def count(path: str) -> int:
    """Count the messages in one pass over the archive."""
    with open_archive(path) as archive:
        return sum(mail_file.count_found(stream) for _, stream in files(archive))


@contextmanager
def open_archive(path: str) -> Iterator[tarfile.TarFile]:
    """Open an archive; turn damage that is found while reading into a CorpusError."""
    with open_file(path) as packed:
        try:
            with tarfile.open(fileobj=packed) as archive:
                yield archive
        except DAMAGE as error:
            why = str(error).partition("\n")[0].rstrip(":")
            advice = "unpack it to see how far it is intact, or fetch it again"
            raise CorpusError(f"the archive {path} is broken: {why}; {advice}") from error


def files(archive: tarfile.TarFile) -> Iterator[tuple[str, IO[bytes]]]:
    """Yield the name and stream of each visible regular file. A stream is valid until the next file is requested."""
    while member := archive.next():
        # tarfile keeps half a kilobyte for every member, for lookups by name, which are not used here.
        archive.members.clear()  # type: ignore[attr-defined]  # unknown to typeshed
        stream = archive.extractfile(member) if member.isreg() and is_visible(member.name) else None
        if stream:
            yield member.name.removeprefix("./"), stream
    check_end(archive)


def check_end(archive: tarfile.TarFile) -> None:
    """Raise ReadError if the archive stops early, because tarfile takes a damaged header for the end.

    At the real end tarfile has read one block of zeros, and the next block is zeros, too. The rest is read because the
    checksum of a compressed archive comes last.
    """
    stream = archive.fileobj
    assert stream is not None
    n_read = stream.tell() - archive.offset
    if n_read < tarfile.BLOCKSIZE or any(stream.read(tarfile.BLOCKSIZE)):
        raise tarfile.ReadError(f"neither a file nor the end at byte {archive.offset:,}")
    while stream.read(mbox.BLOCK):
        pass


def is_visible(name: str) -> bool:
    """Tell whether no component of a path begins with a dot.

    >>> is_visible("./ham/1.eml"), is_visible("ham/.DS_Store")
    (True, False)
    """
    return not any(part.startswith(".") and part != ".." for part in PurePosixPath(name).parts)
