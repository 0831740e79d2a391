"""Build the compiled modules a second time, in a copy of the tree: with sanitizers, or with all checks of Cython.

The copy is in build/, so the ordinary build cannot overwrite it, and tests run in it as in the checkout.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SANITIZED = ROOT / "build" / "sanitized"
CHECKED = ROOT / "build" / "checked"
LIBRARIES = ROOT / "build" / "libraries"  # by a digest of what they are made of, so that nothing is compiled twice
COMPILER = os.environ.get("CC", "clang-14")
SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")
COPIED = ("src", "tests", "benchmarks", "docs", "fuzz", "pyproject.toml", "README.md", "CHANGELOG.md")

SANITIZERS = (
    "-fsanitize=address,undefined,fuzzer-no-link",
    "-fno-sanitize=function,vptr,pointer-overflow",  # Cython adds 0 to null pointers
    "-fno-sanitize-recover=undefined",  # undefined behaviour ends the process, as an overflow does
    "-fno-omit-frame-pointer",
    "-DPRIORY_TIGHT",  # buffers have no room to spare
    "-O1",
    "-g",
)
INSTRUMENTED = ("__asan_init", "__ubsan_handle_", "__sanitizer_cov_")
QUIET = ("-X", "show_performance_hints=False")
CHECKS = {"boundscheck": True, "initializedcheck": True}


def copy_tree(to: Path) -> None:
    """Copy what tests need, without anything that was built."""
    shutil.rmtree(to, ignore_errors=True)
    to.mkdir(parents=True)
    ignored = shutil.ignore_patterns("*.so", "*.c", "__pycache__", "*.egg-info")
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, to / name, ignore=ignored)
        else:
            shutil.copy(source, to / name)


def modules() -> dict[str, list[str]]:
    """Return the name of each compiled module, with its compiler flags."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["ext-modules"]
    return {module["name"]: module["extra-compile-args"] for module in declared}


def source_of(tree: Path, name: str) -> Path:
    """Return the Cython file of a module in a copy of the tree."""
    return (tree / "src" / Path(*name.split("."))).with_suffix(".pyx")


def library_of(tree: Path, name: str) -> Path:
    """Return the shared library of a module in a copy of the tree."""
    source = source_of(tree, name)
    return source.with_name(source.stem + SUFFIX)


def compile_module(name: str, tree: Path, flags: Sequence[str]) -> None:
    """Translate one module of a copy of the tree to C, and compile it, unless the same was compiled before."""
    source, library = source_of(tree, name), library_of(tree, name)
    digest = hashlib.sha256(repr((name, COMPILER, flags, source.read_text())).encode())
    for declarations in sorted((tree / "src").rglob("*.pxd")):
        digest.update(declarations.read_bytes())
    compiled = LIBRARIES / digest.hexdigest()
    if not compiled.exists():
        translate = [sys.executable, "-m", "cython", "-3", *QUIET, "--module-name", name, str(source)]
        subprocess.run(translate, cwd=tree / "src", check=True)
        include = ["-I" + sysconfig.get_path("include")]
        options = ["-shared", "-fPIC", "-w", *include, *flags]
        LIBRARIES.mkdir(parents=True, exist_ok=True)
        written = compiled.with_suffix(f".{os.getpid()}")
        subprocess.run([COMPILER, *options, str(source.with_suffix(".c")), "-o", str(written)], check=True)
        written.replace(compiled)
    shutil.copy2(compiled, library)


def compile_modules(names: Iterable[str], tree: Path, flags: Sequence[str]) -> None:
    """Compile modules of a copy of the tree, on all cores."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(partial(compile_module, tree=tree, flags=flags), names))


def lacks_instrumentation(library: Path) -> list[str]:
    """Return the symbols of sanitizers and of the fuzzer that a shared library does not use."""
    symbols = subprocess.run(["nm", "-D", library], check=True, capture_output=True, text=True).stdout
    return [symbol for symbol in INSTRUMENTED if symbol not in symbols]


def build_sanitized(tree: Path = SANITIZED) -> None:
    """Build all modules with sanitizers; exit if one is not instrumented."""
    copy_tree(tree)
    compile_modules(modules(), tree, SANITIZERS)
    fit_instrumentation(tree)


def fit_instrumentation(tree: Path) -> None:
    """Exit unless every compiled module of a tree is instrumented."""
    lacking = {name: lacks_instrumentation(library_of(tree, name)) for name in modules()}
    if any(lacking.values()):
        sys.exit("\n".join(f"{name} is not instrumented: no {', '.join(s)}" for name, s in lacking.items() if s))


def build_checked(tree: Path = CHECKED) -> None:
    """Build all modules with the checks that the ordinary build leaves out."""
    copy_tree(tree)
    for name in modules():
        source = source_of(tree, name)
        first, rest = source.read_text().split("\n", 1)
        for check, value in CHECKS.items():
            first = re.sub(rf", {check}=\w+", "", first) + f", {check}={value}"
        source.write_text(f"{first}\n{rest}")
    for name, flags in modules().items():
        compile_module(name, tree, [*flags, "-O1"])  # compiled in half the time; arithmetic is the same


if __name__ == "__main__":
    {"sanitized": build_sanitized, "checked": build_checked}[sys.argv[1]]()
