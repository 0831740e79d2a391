"""Plant overflows in copies of the compiled modules, one at a time, and show that the sanitizers find each of them.

usage: faults.py [MODULE …]
"""

import re
import shutil
import subprocess
import sys
from typing import NamedTuple

import build
import sanitize

FAULTY = build.ROOT / "build" / "faulty"
REPORT = re.compile(r"(?:ERROR: AddressSanitizer|: runtime error:).*?(?:\n\n|\Z)", re.DOTALL)
FRAME = re.compile(r"/src/(priory/\w+/\w+)\.(?:c|cpython\S*\.so)\b")


class Fault(NamedTuple):
    """A piece of a module, the piece that replaces it, and the tests that run it.

    What is inlined is in another file, whose declarations the module includes.
    """

    module: str
    right: str
    wrong: str
    tests: str
    file: str = ""


FAULTS = (
    Fault("priory.message.fields", "(self.n + 1 if tight", "(self.n if tight", "tests/message/test_mime.py"),
    Fault(
        "priory.message.html_scanner",
        "Malloc(self.length + 1)",
        "Malloc(self.length // 2)",
        "tests/message/test_html_scanner.py",
    ),
    Fault("priory.message.mime", "last = text + end", "last = text + end + 50", "tests/message/test_mime.py"),
    Fault("priory.message.transfer", "length // 4 * 3)", "length // 9)", "tests/message/test_mime.py"),
    Fault(
        "priory.features.folding",
        "PyBytes_FromStringAndSize(NULL, length)",
        "PyBytes_FromStringAndSize(NULL, length // 9)",
        "tests/features/test_folding.py tests/features/test_sections.py",
    ),
    Fault("priory.features.hashing", "(length // 2 + 2)", "(length // 9 + 1)", "tests/features/test_hashing.py"),
    Fault(
        "priory.features.sections", "4 * MOST_HEADER + 202", "4 * MOST_HEADER + 201", "tests/features/test_sections.py"
    ),
    Fault("priory.features.units", "self.n + 1 if is_tight", "self.n if is_tight", "tests/features/test_places.py"),
    Fault("priory.features.places", "PyMem_Malloc((n + 1) *", "PyMem_Malloc(n // 9 *", "tests/features/test_places.py"),
    Fault(
        "priory.native.names",
        "free == last:\n            self",
        "False:\n            self",
        "tests/native/test_table.py",
    ),
    Fault(
        "priory.native.overlap",
        "n + buckets.shape[0])\n        else",
        "n + buckets.shape[0] // 2)\n        else",
        "tests/native/test_overlap.py",
    ),
    Fault("priory.native.packing", "most = 16 + 5 * kinds", "most = 1", "tests/native/test_packing.py"),
    Fault("priory.native.table", "size if IS_TIGHT", "size // 2 if IS_TIGHT", "tests/native/test_table.py"),
    Fault(
        "priory.bayes.personal",
        "clone(PLACES, buckets.shape[0], False)\n        cdef uint32_t* out",
        "clone(PLACES, buckets.shape[0] // 9, False)\n        cdef uint32_t* out",
        "tests/bayes/test_personal_bayes.py",
    ),
    Fault(
        "priory.bayes.kernels",
        "np.zeros(starts[n], np.uint8)",
        "np.zeros(starts[n] // 2, np.uint8)",
        "tests/bayes/test_kernels.py tests/bayes/test_coding.py",
    ),
    Fault(
        "priory.bayes.calibration_line",
        "max(score.shape[0], 1)",
        "max(score.shape[0] // 9, 1)",
        "tests/bayes/test_calibration.py",
    ),
    Fault(
        "priory.bayes.pairs",
        "collected = np.zeros((np.sum(n_values)",
        "collected = np.zeros((np.sum(n_values) // 9",
        "tests/bayes/test_tree_augmented.py",
    ),
    Fault(
        "priory.bayes.moments",
        "np.zeros((n_classes, columns, 9))",
        "np.zeros((n_classes, columns, 3))",
        "tests/bayes/test_moments.py",
    ),
    Fault(
        "priory.message.entities",
        "after + (after < end and after[0] == 59))",
        "after + 40)",
        "tests/message/test_html_scanner.py",
    ),
    Fault(
        "priory.message.plain_text", "while at < end and at[0] != 60", "while at[0] != 60", "tests/message/test_mime.py"
    ),
    Fault(
        "priory.message.parser",
        "while i < sender.value_length",
        "while i < sender.value_length + 4096",
        "tests/message/test_headers.py",
    ),
    Fault(
        "priory.features.kinds",
        "while at < length and text[at] != 63 and",
        "while text[at] != 63 and",
        "tests/features/test_kinds.py",
    ),
    Fault(
        "priory.native.blocks", "part.shape[0] - at >= BLOCK:", "part.shape[0] >= BLOCK:", "tests/native/test_blocks.py"
    ),
    Fault(
        "priory.native.blocks",
        "memcpy(words, data + at, size - at)",
        "memcpy(words, data + at, 32)",
        "tests/native/test_blocks.py",
    ),
    Fault(
        "priory.native.table",
        "bint valid = groups >= 0 and offsets.shape[0] == groups + 1 and",
        "bint valid = groups >= 0 and",
        "tests/native/test_arguments.py -k table",
        "priory/native/buckets.pxd",
    ),
    Fault(
        "priory.native.overlap",
        "bint valid = groups >= 0 and offsets.shape[0] == groups + 1 and offsets[0] == 0 and offsets[groups] == n",
        "bint valid = True",
        "tests/native/test_arguments.py -k overlap",
        "priory/native/buckets.pxd",
    ),
    Fault(
        "priory.native.names",
        "if view.shape[0] != 4",
        "if view.shape[0] > 4",
        "tests/native/test_arguments.py -k names",
    ),
)


def is_named(module: str, output: str) -> bool:
    """Tell whether a sanitizer reports an error, and the innermost compiled function of ours is in a module."""
    report = REPORT.search(output)
    frame = FRAME.search(report[0]) if report else None
    return bool(frame) and frame[1].replace("/", ".") == module


def is_found(fault: Fault) -> bool:
    """Plant a fault, and tell whether the sanitizers report it in its module when the tests run."""
    source = build.source_of(FAULTY, fault.module)
    planted = FAULTY / "src" / fault.file if fault.file else source
    text = planted.read_text()
    if fault.right not in text:
        sys.exit(f"{planted} has no {fault.right!r}: change the fault in fuzz/faults.py with the module")
    planted.write_text(text.replace(fault.right, fault.wrong, 1))
    build.compile_module(fault.module, FAULTY, build.SANITIZERS)
    environment = sanitize.environment(sanitize.asan_runtime()) | {"PYTHONPATH": str(FAULTY / "src")}
    command = [sys.executable, "-m", "pytest", "-q", "-s", "-x", "-p", "no:cacheprovider", *fault.tests.split()]
    result = subprocess.run(command, cwd=FAULTY, env=environment, check=False, capture_output=True, text=True)
    planted.write_text(text)
    library = build.library_of(FAULTY, fault.module)
    shutil.copy2(build.SANITIZED / library.relative_to(FAULTY), library)
    return is_named(fault.module, result.stderr + result.stdout)


def main(modules: list[str]) -> None:
    """Plant all faults, or those of some modules; exit with an error if one is missed."""
    build.build_sanitized()
    shutil.rmtree(FAULTY, ignore_errors=True)
    shutil.copytree(build.SANITIZED, FAULTY)
    missed = []
    for fault in FAULTS:
        if not modules or fault.module in modules:
            found = is_found(fault)
            print(fault.module, fault.right.strip(), "found" if found else "missed", sep=": ", flush=True)
            if not found:
                missed.append(fault.module)
    sys.exit(", ".join(missed) + ": planted faults were missed" if missed else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
