"""Run tests, changed mail and fuzzers under AddressSanitizer and UndefinedBehaviorSanitizer.

usage: sanitize.py SECONDS [TARGET …]

SECONDS are for each target and for the changed mail. With targets, only these are fuzzed, without tests. Inputs that
crash are written to build/fuzz/.
"""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import build

CORPORA = build.ROOT / "build" / "fuzz"
TARGETS = ("message", "html", "headers", "packing", "counts", "wire")
TESTS = (
    "tests/message", "tests/features", "tests/native", "tests/journal", "tests/wire", "tests/bayes/test_kernels.py",
    "tests/bayes/test_personal_bayes.py", "tests/bayes/test_moments.py", "tests/bayes/test_calibration.py",
    "tests/bayes/test_tree_augmented.py", "tests/bayes/test_coding.py",
)  # fmt: skip
SELECTED = "not (slow or postgres)"  # what is slow takes minutes under sanitizers; a server is not instrumented
NOTHING_SELECTED = 5  # pytest's exit status
OPTIONS = "detect_leaks=0:allocator_may_return_null=1:abort_on_error=0"  # Python keeps what it allocates once


def environment(runtime: str) -> dict[str, str]:
    """Return the environment in which Python loads the instrumented modules."""
    path = f"{build.SANITIZED / 'src'}:{build.SANITIZED / 'fuzz'}"
    return os.environ | {
        "LD_PRELOAD": runtime,
        "PYTHONMALLOC": "malloc",  # one allocation for each object
        "PYTHONPATH": path,
        "ASAN_OPTIONS": OPTIONS,
        "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    }


def asan_runtime() -> str:
    """Return the runtime of the compiler's AddressSanitizer, to be loaded before Python."""
    command = [build.COMPILER, "-print-file-name=libclang_rt.asan-x86_64.so"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def fuzzer_runtime() -> str:
    """Return Atheris' runtime: AddressSanitizer together with libFuzzer."""
    import atheris

    return str(Path(atheris.__file__).parent.parent / "asan_with_fuzzer.so")


def test_files() -> list[Path]:
    """Return the files of tests to run, relative to the tree."""
    tree = build.SANITIZED
    return [
        path.relative_to(tree)
        for name in TESTS
        for path in (sorted((tree / name).glob("test_*.py")) if (tree / name).is_dir() else [tree / name])
    ]


def passes(file: Path) -> bool:
    """Run the tests of a file in a process of their own; print what they print if they fail."""
    command = [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", "-m", SELECTED, str(file)]
    if file.name == "test_arguments.py":
        del command[-3:-1]  # all of its tests are slow, and they reach further than any mail
    result = subprocess.run(
        command, cwd=build.SANITIZED, env=environment(asan_runtime()), check=False, capture_output=True, text=True
    )
    is_passed = result.returncode in {0, NOTHING_SELECTED}
    print(file, "passed" if is_passed else f"failed:\n{result.stdout}{result.stderr}", flush=True)
    return is_passed


def test() -> None:
    """Run the tests of the compiled modules and of what calls them directly; exit if one fails."""
    files = test_files()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        failed = [str(file) for file, is_passed in zip(files, pool.map(passes, files), strict=True) if not is_passed]
    if failed:
        sys.exit(f"under sanitizers fail {', '.join(failed)}")


def mutate(seconds: str) -> None:
    """Pass changed mail through the native code."""
    command = [sys.executable, str(build.SANITIZED / "fuzz" / "mutator.py"), seconds]
    subprocess.run(command, env=environment(asan_runtime()), check=True)


def fuzz(target: str, seconds: str) -> None:
    """Fuzz one target, from the seeds and from what earlier runs in this checkout found."""
    corpus = CORPORA / target
    corpus.mkdir(parents=True, exist_ok=True)
    files = build.SANITIZED / "fuzz"
    command = [
        sys.executable, str(files / f"{target}_fuzzer.py"), str(corpus), str(files / "seeds" / target),
        f"-dict={files / 'priory.dict'}", f"-max_total_time={seconds}", f"-artifact_prefix={corpus}.", "-max_len=4096",
        "-timeout=20", "-rss_limit_mb=4096", "-print_final_stats=1",
    ]  # fmt: skip
    subprocess.run(command, env=environment(fuzzer_runtime()), check=True)


def main(seconds: str, targets: list[str]) -> None:
    """Build unless a target is named and the build is there; then run all, or the named targets."""
    if not targets:
        build.build_sanitized()
        test()
        mutate(seconds)
    build.fit_instrumentation(build.SANITIZED)
    for target in targets or TARGETS:
        fuzz(target, seconds)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
