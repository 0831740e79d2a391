"""Compares ways to store the features of a lesson in PostgreSQL: bytes of a row with indexes, and write and read times.

    PRIORY_CORPORA=~/.cache/priory-corpora python benchmarks/row_storage.py [--lessons 5000]

Packs messages of trec07p and writes them as rows like those of the journal, once for each way to store them, on a
server of its own.
"""

import argparse
import sys
import time
from pathlib import Path

import psycopg

from journal import lessons
from priory.features import pack_features

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from real_postgres import postgres

WAYS = {
    "PLAIN": "ALTER TABLE lessons ALTER features SET STORAGE PLAIN",
    "MAIN": "ALTER TABLE lessons ALTER features SET STORAGE MAIN",
    "EXTENDED (the default)": "ALTER TABLE lessons ALTER features SET STORAGE EXTENDED",
    "EXTERNAL": "ALTER TABLE lessons ALTER features SET STORAGE EXTERNAL",
    "EXTERNAL, rows up to 4,080 bytes whole": "ALTER TABLE lessons ALTER features SET STORAGE EXTERNAL; "
    "ALTER TABLE lessons SET (toast_tuple_target = 4080)",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lessons", type=int, default=5_000)
    n = parser.parse_args().lessons
    rows = [(read.digest, label, pack_features(read.features, 22)) for read, label, _ in lessons(n)]
    rows = [(i, digest, label, blob) for i, (digest, label, blob) in enumerate(rows) if len(blob) < 8_000]
    print(f"{len(rows):,} lessons, {sum(len(row[3]) for row in rows) / len(rows):,.0f} bytes of features each")
    with postgres() as server:
        for way, alter in WAYS.items():
            with server.database() as name, psycopg.connect(server.url(name), autocommit=True) as db:
                db.execute("CREATE TABLE lessons (change bigint PRIMARY KEY, digest bytea, label text, features bytea)")
                db.execute("CREATE UNIQUE INDEX ON lessons (substr(digest, 17), label)")
                db.execute(alter)
                start = time.perf_counter()
                with db.transaction(), db.cursor() as cursor:
                    cursor.executemany("INSERT INTO lessons VALUES (%s, %s, %s, %s)", rows)
                written = time.perf_counter() - start
                start = time.perf_counter()
                db.execute("SELECT features FROM lessons").fetchall()
                read = time.perf_counter() - start
                (size,) = db.execute("SELECT pg_total_relation_size('lessons')").fetchone()
            taken = f"{1e6 * written / len(rows):6.0f} µs {1e6 * read / len(rows):6.1f} µs"
            print(f"{way:40} {size / len(rows):7,.0f} bytes {taken}")


if __name__ == "__main__":
    main()
