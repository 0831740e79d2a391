"""The tables of a journal in PostgreSQL, created and changed by numbered steps, each taken once."""

from typing import Any, Final

import psycopg

_FIRST: Final = """
CREATE TABLE journal (
  id text NOT NULL,                    -- tells this journal's snapshots from others
  features_version integer NOT NULL,
  bits integer NOT NULL,
  personal_bits integer NOT NULL,
  change bigint NOT NULL,              -- the number of the last change; a writer locks this row
  stamp text NOT NULL,                 -- of the last change
  settled bigint NOT NULL,             -- lessons forgotten up to this change are gone from the list below
  labels text NOT NULL,                -- in the order in which lessons were scored, new ones at the end
  snapshot text NOT NULL               -- the digest of the counts as they stood then
);
CREATE TABLE tally (label text COLLATE "C" PRIMARY KEY, n bigint NOT NULL);
CREATE TABLE lessons (
  change bigint PRIMARY KEY,
  digest bytea NOT NULL,
  "user" text COLLATE "C" NOT NULL,
  label text COLLATE "C" NOT NULL,
  time double precision NOT NULL,
  source text COLLATE "C" NOT NULL,
  sender text COLLATE "C" NOT NULL,
  node text COLLATE "C" NOT NULL,
  shared boolean NOT NULL,
  held_out bytea,
  features bytea NOT NULL
);
ALTER TABLE lessons ALTER features SET STORAGE EXTERNAL;  -- packed: no compression makes them smaller
CREATE UNIQUE INDEX learned_once ON lessons (substr(digest, 17), "user");
CREATE INDEX lessons_by_time ON lessons (time, change);
CREATE INDEX lessons_by_user ON lessons ("user", time) WHERE "user" <> '';
CREATE INDEX automatic ON lessons (label, time) WHERE "user" = E'\\tauto';
CREATE TABLE forgotten (
  change bigint PRIMARY KEY,
  learned bigint NOT NULL,
  "user" text COLLATE "C" NOT NULL,
  label text COLLATE "C" NOT NULL,
  shared boolean NOT NULL,
  held_out bytea,
  features bytea NOT NULL
);
ALTER TABLE forgotten ALTER features SET STORAGE EXTERNAL;
CREATE INDEX forgotten_by_learned ON forgotten (learned);
CREATE TABLE peoples (letter bytea PRIMARY KEY);
CREATE TABLE confirmed (change bigint PRIMARY KEY REFERENCES lessons ON DELETE CASCADE);
CREATE TABLE tombstones (
  message bytea NOT NULL,              -- the end of its digest
  "user" text COLLATE "C" NOT NULL,
  time double precision NOT NULL,
  node text COLLATE "C" NOT NULL,
  PRIMARY KEY (message, "user")
);
CREATE TABLE taught ("user" text COLLATE "C" PRIMARY KEY, n bigint NOT NULL);
CREATE TABLE stamps (change bigint PRIMARY KEY, stamp text NOT NULL);
CREATE TABLE snapshots (
  change bigint NOT NULL,
  labels text NOT NULL,
  part integer NOT NULL,
  bytes bytea NOT NULL,
  PRIMARY KEY (change, part)
);
ALTER TABLE snapshots ALTER bytes SET STORAGE EXTERNAL;
"""
_SILENCE: Final = """
DROP TABLE peoples;
CREATE TABLE told (
  letter bytea PRIMARY KEY,            -- the end of the identity of a message
  message bytea,                       -- and of its digest
  "user" text COLLATE "C" NOT NULL,
  time double precision NOT NULL
);
CREATE TABLE judged (
  change bigint PRIMARY KEY REFERENCES lessons ON DELETE CASCADE,
  decision text COLLATE "C" NOT NULL,
  bins bytea NOT NULL
);
CREATE TABLE silence (labels text NOT NULL, silent bytea NOT NULL, estimate bytea NOT NULL);
CREATE TABLE concluded (file text COLLATE "C" PRIMARY KEY, time double precision NOT NULL);
"""
_RULES: Final = """
CREATE TABLE rules (
  "user" text COLLATE "C" NOT NULL,    -- empty for everyone
  thing text COLLATE "C" NOT NULL,
  text text COLLATE "C" NOT NULL,
  effect text COLLATE "C" NOT NULL,
  label text COLLATE "C" NOT NULL,
  time double precision NOT NULL,
  author text COLLATE "C" NOT NULL,
  PRIMARY KEY ("user", thing, text)
);
CREATE TABLE rule_revision (revision text NOT NULL);
"""
_NAMES: Final = """
UPDATE journal SET features_version = 3 WHERE features_version = 2;  -- new lessons give their features names
"""
_SUBJECTS: Final = """
CREATE TABLE subjects (
  change bigint PRIMARY KEY REFERENCES lessons ON DELETE CASCADE,
  subject text COLLATE "C" NOT NULL    -- of the message, if the configuration says so
);
"""
STEPS: Final = (_FIRST, _SILENCE, _NAMES, _RULES, _SUBJECTS)
FORMAT: Final = len(STEPS)


def format_of(connection: psycopg.Connection[Any]) -> int | None:
    """Return the number of the last step taken; None if there are no tables."""
    (is_there,) = connection.execute("SELECT to_regclass('priory.steps') IS NOT NULL").fetchone() or (False,)
    if not is_there:
        return None
    (last,) = connection.execute("SELECT max(step) FROM priory.steps").fetchone() or (None,)
    return int(last or 0)


def take_steps(connection: psycopg.Connection[Any]) -> int:
    """Take the remaining steps, all or none; return the number of the last."""
    with connection.transaction():
        # Two processes may prepare one database at once: the second waits here, and finds the steps taken.
        connection.execute("SELECT pg_advisory_xact_lock(hashtext('priory steps'))")
        connection.execute("CREATE SCHEMA IF NOT EXISTS priory")
        connection.execute("CREATE TABLE IF NOT EXISTS priory.steps (step integer PRIMARY KEY, taken timestamptz)")
        taken = format_of(connection) or 0
        for number, step in enumerate(STEPS[taken:], taken + 1):
            connection.execute(step)
            connection.execute("INSERT INTO priory.steps VALUES (%s, now())", (number,))
        return max(taken, FORMAT)
