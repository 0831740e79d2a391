"""Plant overflows in copies of the compiled modules, one at a time, and show that the sanitizers find each of them.

usage: faults.py [MODULE …]
"""

import shutil
import subprocess
import sys
from typing import NamedTuple

import build
import sanitize

FAULTY = build.ROOT / "build" / "faulty"
FOUND = ("AddressSanitizer", "runtime error")


class Fault(NamedTuple):
    """A line of a module, the line that replaces it, and the tests that run it."""

    module: str
    right: str
    wrong: str
    tests: str


FAULTS = (
    Fault("priory.message.fields", "(self.n + 1 if IS_TIGHT", "(self.n if IS_TIGHT", "tests/message/test_mime.py"),
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
    Fault("priory.features.sections", "4 * MOST_HEADER + 256", "-6_000", "tests/features/test_sections.py"),
    Fault("priory.features.units", "self.n + 1 if IS_TIGHT", "self.n if IS_TIGHT", "tests/features/test_places.py"),
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
)


def is_found(fault: Fault) -> bool:
    """Plant a fault, and tell whether the sanitizers report it when the tests run."""
    source = build.source_of(FAULTY, fault.module)
    text = source.read_text()
    if fault.right not in text:
        sys.exit(f"{fault.module} has no {fault.right!r}: change the fault in fuzz/faults.py with the module")
    source.write_text(text.replace(fault.right, fault.wrong, 1))
    build.compile_module(fault.module, FAULTY, build.SANITIZERS)
    environment = sanitize.environment(sanitize.asan_runtime()) | {"PYTHONPATH": str(FAULTY / "src")}
    command = [sys.executable, "-m", "pytest", "-q", "-s", "-x", "-p", "no:cacheprovider", *fault.tests.split()]
    result = subprocess.run(command, cwd=FAULTY, env=environment, check=False, capture_output=True, text=True)
    for suffix in (".pyx", build.SUFFIX):
        name = source.with_name(source.stem + suffix).relative_to(FAULTY)
        shutil.copy2(build.SANITIZED / name, FAULTY / name)
    return any(word in result.stderr + result.stdout for word in FOUND)


def main(modules: list[str]) -> None:
    """Plant all faults, or those of some modules; exit with an error if one is missed."""
    build.build_sanitized()
    shutil.rmtree(FAULTY, ignore_errors=True)
    shutil.copytree(build.SANITIZED, FAULTY)
    missed = []
    for fault in FAULTS:
        if not modules or fault.module in modules:
            if not is_found(fault):
                missed.append(fault.module)
            print(fault.module, "missed" if fault.module in missed else "found", flush=True)
    sys.exit(", ".join(missed) + ": planted faults were missed" if missed else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
