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
        status, at_once = _unwritten(error), True
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        status, at_once = status or _unwritten(error), True  # the interpreter would only try to write it again
    if at_once:
        os._exit(status)
    sys.exit(status)


def _unwritten(error: OSError) -> int:
    if isinstance(error, BrokenPipeError):  # who reads it has enough, such as `head`
        return 1
    sys.stderr.write(f"priory: the output cannot be written: {error.strerror}\n")
    return 1


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
        sys.stderr.write(f"priory: {problem}\n")
        return 1
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        gc.freeze()  # nor does the interpreter look through it on its way out, which took 14 ms
    return 0
