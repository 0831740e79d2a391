"""Compiled functions refuse odd arguments, or do something sensible with them; none ends the process.

Introspection finds the functions, so none is forgotten. Each is called in a child process, which would die by a signal.
"""

import importlib
import inspect
import itertools
import os
import pickle
import random
import resource
import subprocess
import sys
import tomllib
from array import array
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from priory.bayes.personal import PersonalBayes
from priory.features.hashing import Keys, Tokens
from priory.features.kinds import KINDS, find
from priory.features.places import Places
from priory.features.sections import Section, Sections
from priory.message.fields import Budget, Fields
from priory.message.html_scanner import Scan
from priory.message.mime import Kind, structure
from priory.message.parser import parse
from priory.native.blocks import MappedBlocks, block_checksums
from priory.native.names import NameTable
from priory.native.overlap import FeatureIndex
from priory.native.table import Scorer

ROOT = Path(__file__).parents[2]
MODULES = [
    module["name"]
    for module in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["ext-modules"]
]
CALLS = 3_000  # of each function, at most
REFUSALS = (TypeError, ValueError, LookupError, ArithmeticError, MemoryError, AttributeError, BufferError)
REFUSALS += (pickle.PickleError,)  # of the functions by which Cython restores pickled objects
BIG = 2**63 - 1
CONSTRUCTORS = {  # Python does not know the parameters of a class that Cython compiled
    "Places": ["found", "buckets", "offsets", "terms", "n", "headers", "ignored"],
    "NameTable": ["columns", "bits", "n", "key", "memory"],
    "FeatureIndex": ["bits", "n"],
    "Keys": ["bits", "n", "named"],
    "Tokens": ["text", "n"],
    "MappedBlocks": ["blocks_memory", "sums"],
    "Fields": ["raw", "start", "end", "budget"],
    "Scan": ["text", "most"],
    "Structure": ["raw", "start"],
    "Section": ["name", "text", "text"],
    "Scorer": ["weights", "weights", "strong", "strong"],
    "PersonalBayes": ["offsets", "weights", "strong", "strong", "strong", "strong"],
}


def odd_values() -> list[Any]:
    """Return values of all types that compiled functions take, few of them sensible."""
    numbers = [0, 1, -1, 2, 7, 40, 64, 2**31 - 1, -(2**31), 2**32 - 1, BIG, -BIG - 1, 2**64, 0.5, float("nan"), True]
    texts = [
        None,
        "",
        "text",
        b"",
        b"\xff",
        b"a\xf0",
        b"\xc3",
        b"<a href=x>",
        b"\xe2\x80",
        b"From: a@b\n\n" + b"\xf1" * 9,
    ]
    arrays = [array("I"), array("I", [0]), array("I", [5, 3, 2**32 - 1]), array("q", [0]), array("q", [0, 1])]
    arrays += [
        array("q", [0, 3, BIG]),
        array("q", [-1, 1]),
        array("d", [0.5]),
        array("d", [float("nan")] * 3),
        array("b", [1]),
    ]
    arrays += [array("B", [200]), array("i", [-1, 5]), bytearray(3), memoryview(b"abcd")[1:]]
    tables = [
        np.zeros(shape, type_)
        for type_ in (np.uint32, np.float64, np.int64, np.int32)
        for shape in ((0, 2), (1, 1), (3, 4), (4, 0), (2, 2, 2), (1, 9, 2))
    ]
    return [*numbers, *texts, *arrays, *tables, [], [None], {}, {b"from": 99}, (), lambda *_: "name", object()]


def sensible_values() -> list[Any]:
    """Return values that lead further into the functions, to be mixed with odd ones."""
    return [
        1,
        2,
        10,
        22,
        b"some text",
        array("I", [1, 5]),
        array("q", [0, 2]),
        array("d", [0.5, 1.5]),
        array("q", [5, 7]),
        np.zeros((1024, 3), np.uint32),
        np.zeros((2, 2)),
        np.zeros((2, 2), np.int32),
        "text",
        [[("text", -9, 3)]],
        [(array("I", [1, 5]), array("q", [0, 2]), 1)],
        np.zeros((1, 5, 2), np.int64),
    ]


def instances(modules: list[ModuleType], values: list[Any], chance: random.Random) -> list[Any]:
    """Return objects of each compiled class: of sensible arguments, and where it can be, of `__new__` alone."""
    objects = []
    for module in modules:
        for class_ in classes(module):
            for make in (class_.__new__, *[class_] * 300):
                try:
                    objects.append(
                        make(class_)
                        if make is class_.__new__
                        else class_(*chance.choices(values, k=chance.randrange(6)))
                    )
                except (*REFUSALS, OSError):
                    continue
                if sum(type(object_) is class_ for object_ in objects) > 5:
                    break
    return objects


def classes(module: ModuleType) -> list[type]:
    """Return the compiled classes of a module."""
    return [value for value in vars(module).values() if inspect.isclass(value) and value.__module__ == module.__name__]


def functions(module: ModuleType) -> list[tuple[str, Any]]:
    """Return the compiled functions of a module, and its classes as the functions that make their objects."""
    compiled = [
        (name, value) for name, value in vars(module).items() if type(value).__name__ == "cython_function_or_method"
    ]
    return compiled + [(class_.__name__, class_) for class_ in classes(module)]


def known_instances(modules: list[ModuleType]) -> list[Any]:
    """Return well made objects that methods can be called on."""
    raw = "From: Ann <ann@mail.example>\nSubject: Grüße\nContent-Type: text/html\n\n<p>50 % <a href=x>off</a>".encode()
    message = parse(raw)
    keys = find(message, set(KINDS), {}, 10, True)
    found, (buckets, offsets) = keys.found(), keys.distinct(len(KINDS))
    places = Places(found, buckets, offsets, array("d", [0.5] * len(buckets)), 1, {b"from": 3}, [[("text", 0, 3)]])
    parts = structure(raw, 0)
    scorer, personal = Scorer([1.0], [2.0], 0.1, 0.0), PersonalBayes([1], [1.0], 20.0, 0.03, 3.0, 10.0)
    index = FeatureIndex(10)
    index.append(array("I", [1, 5]), array("q", [0, 2]), 1)
    return [
        message,
        keys,
        places,
        parts,
        *parts.parts,
        Sections(message),
        Section("a", b"A", b"a"),
        Tokens(b"two words", False),
        Fields(raw, 0, len(raw), Budget()),
        Scan(raw, 100),
        Kind("", "", ""),
        NameTable(3),
        whole_blocks(),
        Budget(),
        index,
        scorer,
        personal,
        Keys(28),
    ]


def whole_blocks() -> MappedBlocks:
    """Return blocks of memory with their checksums."""
    memory = b"text" * 2_000
    return MappedBlocks(memory, memoryview(block_checksums([memory])).cast("Q"))


def by_name() -> dict[str, list[Any]]:
    """Return sensible values for arguments of these names, so that calls get past the first check."""
    names, rows = NameTable(3), np.zeros((1024, 3), np.uint32)
    message = (array("I", [1, 5]), array("q", [0, 2]), 1)
    numbers = {
        name: [0, 1, 10]
        for name in ("bits", "columns", "kinds", "most_kinds", "extra", "key", "seed", "size", "n", "most")
    }
    return (
        numbers
        | {name: [0, 1, 2] for name in ("label", "start", "group", "kind", "late", "named", "without", "n_classes")}
        | {
            "rows": [rows],
            "names": [names],
            "buckets": [message[0], array("I")],
            "offsets": [message[1], array("q", [0])],
            "one": [message[0]],
            "other": [message[0]],
            "one_offsets": [message[1]],
            "other_offsets": [message[1]],
            "totals": [array("q", [50, 50]), np.ones((1, 2))],
            "labels": [1, 2, array("q", [0, 1]), array("B", [0, 1])],
            "corrections": [array("b", [1]), array("d", [1, 2])],
            "terms": [array("d", [0.5, 1.5])],
            "messages": [[message] * 2],
            "in_turn": [array("B", [1, 1])],
            "held_out": [np.zeros((1, 5, 2), np.int64)],
            "lines": [array("d", [1, 0])],
            "scores": [array("d", [0, 0])],
            "limit": [9.0],
            "width": [3.6],
            "end": [2],
            "number": [1, 5],
            "score": [0.5],
            "packed": [b"\x01\x42\x10\x00\x00", b"\x81\xff\xff\xff"],
            "weights": [array("d", [1, 1]), np.ones((2, 2)), [1.0]],
            "counts": [np.ones((4, 2))],
            "cells": [np.zeros((2, 2), np.int32)],
            "logs": [np.zeros((4, 2)), np.zeros((2, 2, 2))],
            "codes": [np.zeros((2, 2), np.int32)],
            "starts": [array("q", [0, 1]), array("q", [0, 1, 2])],
            "widths": [array("q", [1, 1])],
            "parents": [array("q", [-1, -1]), array("q", [-1, 0])],
            "order": [array("q", [0, 1])],
            "matrix": [np.zeros((2, 2), np.int64), np.zeros((2, 2))],
            "least": [array("q", [0, 0]), 0.5],
            "table": [np.zeros((2, 2, 2)), array("i", [1, 2]), np.zeros((9, 2, 2))],
            "unknown": [array("i", [0, 0])],
            "text": [b"some text"],
            "raw": [b"From: a@b\n\ntext"],
            "host": [b"a.b.example"],
            "skeleton": [b"<p><b x=y>"],
            "X": [np.zeros((2, 2))],
            "joint": [np.zeros((2, 2))],
            "log_prior": [array("d", [-1, -1])],
            "times": [array("d", [1])],
            "outcomes": [np.ones((2, 2), np.int64)],
            "prior": [array("d", [1, 0])],
            "precision": [array("d", [1, 1])],
            "found": [[]],
            "headers": [{}],
            "ignored": [[]],
            "length": [6],
            "every": [2],
            "strong": [0.5],
            "memory": [None],
            "blocks_memory": [bytearray(b"text" * 2_000)],
            "sums": [memoryview(block_checksums([b"text" * 2_000])).cast("Q"), array("Q", [0, 1])],
            "part": [b"some text", bytearray(5)],
            "parts": [[b"some text", bytes(5_000)], [b""]],
            "data": [b"some text"],
            "blocks": [whole_blocks(), None],
            "budget": [Budget()],
            "indptr": [array("q", [0, 1, 2])],
            "indices": [array("q", [0, 1])],
            "values": [array("d", [1, 2]), array("q", [1])],
            "gaussians": [np.zeros((3, 2, 2))],
            "may_be_parent": [array("B", [1, 1])],
            "gains": [np.zeros((4, 2))],
        }
    )


def arguments_by_name(
    names: list[str], sensible: dict[str, list[Any]], values: list[Any], chance: random.Random
) -> list[Any]:
    """Return sensible values for parameters of these names, but odd ones for one or two of them."""
    chosen = [chance.choice(sensible.get(name, values)) for name in names]
    for _ in range(chance.randrange(3) if chosen else 0):
        chosen[chance.randrange(len(chosen))] = chance.choice(values)
    return chosen


def parameters(function: Any) -> list[str]:
    """Return the names of the parameters of a function, without that of its object."""
    try:
        return [name for name in inspect.signature(function).parameters if name != "self"]
    except (TypeError, ValueError):
        return CONSTRUCTORS.get(getattr(function, "__name__", ""), ["value"] * 3)


def call(name: str, function: Any, values: list[Any], objects: list[Any], chance: random.Random) -> None:
    """Call a function with many combinations of arguments; errors that refuse them are fine."""
    sensible, names = by_name(), parameters(function)
    everything = [*values, *objects]
    lists = [[], *([value] for value in everything)]
    lists += [chance.choices(everything, k=chance.randrange(2, 15)) for _ in range(CALLS // 8)]
    for arguments in itertools.chain(
        lists, (arguments_by_name(names, sensible, everything, chance) for _ in range(CALLS))
    ):
        try:
            function(*arguments)
        except REFUSALS:
            continue
        except Exception as error:
            raise AssertionError(f"{name}{tuple(arguments)!r} raised {error!r}") from error


def call_all(name: str) -> None:
    """Call every function, method and property of a compiled module with odd arguments."""
    chance = random.Random(name)
    modules = [importlib.import_module(each) for each in MODULES]
    values = odd_values()
    objects = [*known_instances(modules), *instances(modules, [*values, *sensible_values()], chance)]
    module = importlib.import_module(name)
    for function_name, function in functions(module):
        call(function_name, function, values, objects, chance)
    for object_ in objects:
        if type(object_).__module__ == name:
            use(object_, values, objects, chance)
    sys.stdout.write(f"survived {name}\n")


def use(object_: Any, values: list[Any], objects: list[Any], chance: random.Random) -> None:
    """Read all properties of an object, and call all its methods."""
    for attribute in dir(type(object_)):
        if attribute in {
            "__class__",
            "__getattribute__",
            "__init_subclass__",
            "__subclasshook__",
            "__new__",
            "__del__",
        }:
            continue
        try:
            value = getattr(object_, attribute)
        except REFUSALS:
            continue
        if callable(value):
            call(f"{type(object_).__name__}.{attribute}", value, values, objects, chance)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODULES)
def test_odd_arguments_of_compiled_functions_are_refused(name):
    child = subprocess.run([sys.executable, __file__, name], capture_output=True, text=True, check=False)
    assert (child.returncode, child.stdout) == (0, f"survived {name}\n"), child.stderr[-3000:]


if __name__ == "__main__":
    if "LD_PRELOAD" not in os.environ:  # sanitizers reserve terabytes of addresses
        resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
    call_all(sys.argv[1])
