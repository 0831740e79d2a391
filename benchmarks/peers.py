"""The filters that are compared, each in the fastest way its own programs offer for many messages.

Each learns a `Mail` into a folder and checks another with the store in that folder. Missing programs are installed
from Debian's packages if we are root, and otherwise named.
"""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from mail import Mail
from rounds import FailedError, Run, run

PRIORY = str(Path(sys.executable).with_name("priory"))
PACKAGES = {
    "bogofilter-bdb": "bogofilter-bdb",
    "bogofilter-sqlite": "bogofilter-sqlite",
    "spamprobe": "spamprobe",
    "sa-learn": "spamassassin",
    "spamd": "spamd",
    "spamc": "spamc",
    "rspamd": "rspamd",
    "redis-server": "redis-server",
}
_SPAMASSASSIN = """\
loadplugin Mail::SpamAssassin::Plugin::Check
loadplugin Mail::SpamAssassin::Plugin::Bayes
include /usr/share/spamassassin/20_aux_tlds.cf
use_bayes 1
bayes_auto_learn 0
bayes_auto_expire 0
dns_available no
body BAYES_HAM eval:check_bayes('0.00', '0.50')
body BAYES_SPAM eval:check_bayes('0.50', '1.01')
"""


class Peer(Protocol):
    """A filter as it is measured."""

    name: str
    every: int  #: 1 if it is quick enough to learn and check all messages in every round; n if it learns all of them
    #: once, before the rounds, and checks every n-th
    learns_per_s: int  #: about, to say beforehand how long it takes

    def learn(self, mail: Mail, home: Path) -> Run: ...

    def check(self, mail: Mail, home: Path) -> Run: ...

    def store_bytes(self, home: Path) -> int: ...


def folder_bytes(home: Path) -> int:
    """Return the size of a folder on disk."""
    return sum(path.stat().st_size for path in home.rglob("*") if path.is_file())


@dataclass(frozen=True)
class Priory:
    """Priory's commands, with one process or several."""

    jobs: int = 1
    every: int = 1
    learns_per_s: int = 5_000

    @property
    def name(self) -> str:
        return "Priory" if self.jobs == 1 else f"Priory --jobs {self.jobs}"

    @property
    def _jobs(self) -> list[str]:
        return [] if self.jobs == 1 else ["--jobs", str(self.jobs)]

    def learn(self, mail: Mail, home: Path) -> Run:
        index = mail.write_index(home.with_suffix(".index"))
        return run([PRIORY, "learn", "--index", str(index), "--home", str(home), *self._jobs])

    def check(self, mail: Mail, home: Path) -> Run:
        command = [PRIORY, "check", "--home", str(home), *self._jobs, *mail.names()]
        return run(command, stdout=self.verdicts(home), cwd=mail.folder)

    def verdicts(self, home: Path) -> Path:
        """Return the path of the last check's output."""
        return home.with_suffix(".verdicts")

    def store_bytes(self, home: Path) -> int:
        return (home / "journal.sqlite").stat().st_size


@dataclass(frozen=True)
class Bogofilter:
    """bogofilter with one of its stores, given a list of files."""

    program: str
    every: int = 1
    learns_per_s: int = 4_000

    @property
    def name(self) -> str:
        return self.program

    def learn(self, mail: Mail, home: Path) -> Run:
        home.mkdir()
        lists = [mail.write_list(home.with_suffix(f".{label}"), label) for label in ("ham", "spam")]
        ham, spam = (
            run([self.program, "-d", str(home), flag, "-b"], stdin=paths)
            for flag, paths in zip(("-n", "-s"), lists, strict=True)
        )
        return ham + spam

    def check(self, mail: Mail, home: Path) -> Run:
        paths = mail.write_list(home.with_suffix(".list"))
        command = [self.program, "-d", str(home), "-T", "-b"]
        return run(command, stdin=paths, stdout=home.with_suffix(".verdicts"), answers=(0, 1, 2))

    def store_bytes(self, home: Path) -> int:
        return folder_bytes(home)


@dataclass(frozen=True)
class SpamProbe:
    """SpamProbe, given many files at once."""

    every: int
    name: str = "SpamProbe"
    learns_per_s: int = 190

    def learn(self, mail: Mail, home: Path) -> Run:
        home.mkdir()
        run(["spamprobe", "-d", str(home), "create-db"])
        ham, spam = (
            run(["spamprobe", "-d", str(home), act, *mail.names(label)], cwd=mail.folder)
            for act, label in (("good", "ham"), ("spam", "spam"))
        )
        return ham + spam

    def check(self, mail: Mail, home: Path) -> Run:
        command = ["spamprobe", "-d", str(home), "score", *mail.names()]
        return run(command, cwd=mail.folder, stdout=home.with_suffix(".verdicts"))

    def store_bytes(self, home: Path) -> int:
        return folder_bytes(home)


@dataclass(frozen=True)
class SpamAssassin:
    """SpamAssassin's Bayes alone: no other rules, no network; checking many messages in one process."""

    every: int
    name: str = "SpamAssassin Bayes"
    learns_per_s: int = 80

    @staticmethod
    def write_rules(home: Path) -> Path:
        """Write the only rules that SpamAssassin has to apply."""
        rules = home / "rules"
        rules.mkdir(parents=True)
        (rules / "bayes.cf").write_text(_SPAMASSASSIN)
        return rules

    @staticmethod
    def options(home: Path) -> list[str]:
        """Return the options that make its programs use only these rules, and no user files."""
        return [*SpamAssassin.rules_only(home), "--prefspath", os.devnull]

    @staticmethod
    def rules_only(home: Path) -> list[str]:
        """Return the options that make its daemon use only these rules, and no network."""
        return ["--siteconfigpath", str(home / "rules"), "--configpath", str(home / "rules"), "-L"]

    def learn(self, mail: Mail, home: Path) -> Run:
        self.write_rules(home)
        store = home / "store"
        store.mkdir()
        lists = [mail.write_list(home / label, label) for label in ("ham", "spam")]
        ham, spam = (
            run(
                ["sa-learn", *self.options(home), "--dbpath", str(store / "bayes"), f"--{paths.name}", "-f", str(paths)]
            )
            for paths in lists
        )
        return ham + spam

    def check(self, mail: Mail, home: Path) -> Run:
        paths = mail.write_list(home / "list")
        program = Path(__file__).with_name("mass_check.pl")
        command = ["perl", str(program), str(home / "rules"), str(home / "store" / "bayes")]
        done = run(command, stdin=paths, stdout=home / "verdicts")
        scored = [not line.startswith("none ") for line in (home / "verdicts").read_text().splitlines()]
        if sum(scored) < 0.9 * len(mail):
            raise FailedError(f"SpamAssassin's Bayes said nothing about {len(mail) - sum(scored):,} of {len(mail):,}")
        return done

    def store_bytes(self, home: Path) -> int:
        return folder_bytes(home / "store")


def install_missing() -> dict[str, str]:
    """Install missing peers if we are root; return instructions for those that are still missing."""
    missing = _missing()
    if missing and os.geteuid() == 0 and shutil.which("apt-get"):
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        installing = [["install", "-y", "--no-install-recommends", package] for package in missing.values()]
        for command in (["update"], *installing):
            subprocess.run(["apt-get", "-q", *command], env=environment, stdout=sys.stderr, check=False)
        missing = _missing()
    return {program: f"apt-get install {package}" for program, package in missing.items()}


def _missing() -> dict[str, str]:
    return {program: package for program, package in PACKAGES.items() if not shutil.which(program)}


def versions() -> dict[str, str]:
    """Return the versions of the peers' packages."""
    command = ["dpkg-query", "-W", "-f", "${Package} ${Version}\n", *PACKAGES.values()]
    if not shutil.which(command[0]):
        return {}
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return dict(line.split() for line in said.splitlines() if len(line.split()) == 2)


def stats(home: Path) -> dict[str, object]:
    """Return the output of `priory stats` without the paths."""
    said = subprocess.run([PRIORY, "stats", "--json", "--home", str(home)], capture_output=True, check=True)
    figures = json.loads(said.stdout)
    del figures["home"]
    return figures
