"""Show that a build with all bounds checks gives the same results as the ordinary one, bit for bit.

Both read, explain and learn the same mail, of the corpora if there are any, else of the demo. Their digests are equal.
"""

import os
import subprocess
import sys

import build

READ = """
import hashlib
import os
import sys
from array import array
from mutator import originals
from priory.features import Spec, extract, pack_features
from priory.message import parse
from priory.native.names import NameTable
from priory.native.table import Scorer, add_features, subtract_features
import numpy as np

sys.unraisablehook = lambda error: (print(error, file=sys.stderr), os._exit(1))  # of functions that cannot raise
spec, digest = Spec(bits=16), hashlib.sha256()
rows, names, totals = np.zeros((1 << 16, 3), np.uint32), NameTable(3), np.zeros(2, np.int64)
scorer, learned = Scorer([1.0] * 12, [5.0] * 12, 0.1, 0.01), []
for n, raw in enumerate(originals()):
    message = parse(raw)
    one = extract(message, spec, located=True)
    terms = scorer.terms(rows, names, totals, one.buckets, one.offsets, one.named, 1)
    places = one.places(terms, 1, {b"from": 3}, [])
    digest.update(pack_features(one, 16) + bytes(terms) + message.digest)
    digest.update(repr((places.units, places.reasons(9, 0.1, 0.01, 0xFFFF), message.links, message.defects)).encode())
    add_features(rows, names, one.buckets, one.offsets, one.named, n % 2)
    totals[n % 2] += 1
    learned.append(one)
for n, one in enumerate(learned[::2]):
    subtract_features(rows, names, one.buckets, one.offsets, one.named, 0)
digest.update(rows.tobytes() + bytes(names.memory))
import priory.native.table
print(priory.native.table.__file__, digest.hexdigest())
"""


def digest_of(path: str) -> str:
    """Return the digest of all results of the modules under a path; exit if other modules were used."""
    environment = os.environ | {"PYTHONPATH": f"{path}:{build.ROOT / 'fuzz'}"}
    command = [sys.executable, "-c", READ]
    result = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.split()
    if not result[0].startswith(path):
        sys.exit(f"{result[0]} is not below {path}")
    return result[1]


if __name__ == "__main__":
    build.build_checked()
    ordinary, checked = digest_of(str(build.ROOT / "src")), digest_of(str(build.CHECKED / "src"))
    print(f"ordinary build {ordinary}\nwith all checks {checked}")
    sys.exit(ordinary != checked and "the results differ")
