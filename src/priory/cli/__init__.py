"""The command line: parse arguments, call the library's method of the same name, print the result."""

import gc
import io
import os
import sys

from priory.cli.client import run_by_daemon


def main() -> None:
    """Run a command; errors in input, configuration or store print one line on standard error, not a traceback.

    A mail server starts this program once per message. So each command loads only what it needs, and nothing but the
    client if a daemon answers.
    """
    try:
        status = run_by_daemon(sys.argv[1:])
        at_once = status is not None  # after an answer of the daemon, the interpreter's cleanup would only cost 2 ms
        if status is None:
            status = _run()
    except KeyboardInterrupt:
        status, at_once = 130, True
    except OSError as error:
        status, at_once = _report_os_error(error), True
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        status, at_once = status or _report_os_error(error), True  # the interpreter would try to flush again
    if at_once:
        os._exit(status)
    sys.exit(status)


def _report_os_error(error: OSError) -> int:
    """Print what the system refused; an error about the output has no file name."""
    if isinstance(error, BrokenPipeError):  # the reader, such as `head`, has closed the pipe
        return 1
    if error.filename is None:
        _print_error(f"the output cannot be written: {error.strerror}")
    else:
        _print_error(f"{error.filename} cannot be used: {error.strerror}. Check its name and permissions.")
    return 1


def _print_error(text: str) -> None:
    from priory.html.text import printable  # noqa: PLC0415 - not needed for a quick start

    sys.stderr.write(f"priory: {printable(text)}\n")  # always one line, whatever file names contain


def _run() -> int:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy would start threads that nothing here uses
    gc.set_threshold(50_000)  # loaded modules stay; frequent collections over them took 12 ms
    from priory.cli.app import app  # noqa: PLC0415 - after the settings for numpy and the garbage collector
    from priory.cli.options import CommandError  # noqa: PLC0415

    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # mail has all characters, a terminal may not
    try:
        app()
    except CommandError as error:
        _print_error(str(error))
        return 1
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        gc.freeze()  # otherwise the collection at exit takes 14 ms
    return 0
