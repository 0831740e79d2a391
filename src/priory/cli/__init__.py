"""The command line: parse, call, print. Each command says what the library's method of the same name does."""

import gc
import io
import os
import sys

from priory.cli.thin import answered


def main() -> None:
    """Run a command; what is wrong with input or store is one line on standard error, never a traceback.

    A mail server starts this once per message, so what a command does not need is not loaded; nothing at all where a
    daemon answers.
    """
    try:
        status = answered(sys.argv[1:])
        if status is None:
            _run()
        else:
            sys.exit(status)
    except KeyboardInterrupt:
        sys.exit(130)
    except OSError as error:  # standard output is full or gone
        sys.stderr.write(f"priory: the output cannot be written: {error.strerror}\n")
        sys.exit(1)


def _run() -> None:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy would start threads that nothing here uses
    gc.set_threshold(50_000)  # what is loaded stays: to look through it for garbage, again and again, took 12 ms
    from priory.cli.app import app  # noqa: PLC0415 - after numpy and the garbage collector were told
    from priory.cli.options import Problem  # noqa: PLC0415

    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # mail is in all languages, terminals may not be
    try:
        app()
    except Problem as problem:
        sys.stderr.write(f"priory: {problem}\n")
        sys.exit(1)
    finally:
        gc.freeze()  # nor does the interpreter look through it on its way out, which took 14 ms
