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
        at_once = status is not None  # where a daemon has answered there is nothing to tidy up, which takes 2 ms
        if status is None:
            status = _run()
    except KeyboardInterrupt:
        status, at_once = 130, True
    except OSError as error:
        status, at_once = _refused(error), True
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        status, at_once = status or _refused(error), True  # the interpreter would only try to write it again
    if at_once:
        os._exit(status)
    sys.exit(status)


def _refused(error: OSError) -> int:
    """Say what the system has refused to do: errors about files name them, those about the output do not."""
    if isinstance(error, BrokenPipeError):  # who reads it has enough, such as `head`
        return 1
    if error.filename is None:
        _tell(f"the output cannot be written: {error.strerror}")
    else:
        _tell(f"{error.filename} cannot be used: {error.strerror}. Check its name, and what this account may do there.")
    return 1


def _tell(problem: str) -> None:
    from priory.verdict import printable  # noqa: PLC0415 - a quick start where nothing is wrong

    sys.stderr.write(f"priory: {printable(problem)}\n")  # on one line, whatever the names in it are


def _run() -> int:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy would start threads that nothing here uses
    gc.set_threshold(50_000)  # what is loaded stays: to look through it for garbage, again and again, took 12 ms
    from priory.cli.app import app  # noqa: PLC0415 - after numpy and the garbage collector were told
    from priory.cli.options import Problem  # noqa: PLC0415

    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # mail is in all languages, terminals may not be
    try:
        app()
    except Problem as problem:
        _tell(str(problem))
        return 1
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        gc.freeze()  # nor does the interpreter look through it on its way out, which took 14 ms
    return 0
