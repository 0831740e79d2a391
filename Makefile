# `make demo` and `make test` do all set-up on a bare Debian machine with Python 3.11, gcc and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := pyproject.toml $(wildcard src/priory/*.pyx src/priory/*.pxd src/priory/*/*.pyx src/priory/*/*.pxd)

# Debian's packages that tests need; make installs them, or for the second kind only unpacks them.
PROGRAMS := bogofilter chromium curl dovecot firefox-esr maildrop postfix postgresql procmail spamc systemd-analyze valgrind
UNPACKED := exim sendmail
# What Debian has is asked for once in a while, not for each of them.
UPDATE := { [ -n "$$(find build/apt-updated -mmin -60 2>/dev/null)" ] || { apt-get -q update && mkdir -p build && touch build/apt-updated; }; }

.PHONY: demo quick test bench sanitize sanitize-faults clean $(PROGRAMS) $(UNPACKED)

demo: $(VENV)/.user
	$(BIN)/priory demo

test: $(VENV)/.developer $(PROGRAMS) $(UNPACKED)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -n auto --dist loadfile --durations 20

# What a developer runs while working: everything but the tests that are slow or need servers or a browser.
quick: $(VENV)/.developer
	$(BIN)/ruff check
	$(BIN)/lint-imports
	$(BIN)/pytest -n auto --dist loadfile -m "not (slow or browser or mta or postgres or cluster)"

bench: $(VENV)/.bench valgrind
	$(BIN)/python benchmarks/bench.py

# Sanitizers on everything compiled, in a copy of the tree: tests, changed mail and fuzzers, SECONDS for each of them.
SECONDS ?= 75
sanitize: $(VENV)/.fuzz clang-14
	$(BIN)/python fuzz/sanitize.py $(SECONDS)
	$(BIN)/python fuzz/checked.py

# Plants overflows in copies of the modules, and fails if the sanitizers miss one.
sanitize-faults: $(VENV)/.fuzz clang-14
	$(BIN)/python fuzz/faults.py

clean:
	rm -rf $(VENV) build src/*.egg-info $(wildcard src/priory/*.c src/priory/*/*.c src/priory/*.so src/priory/*/*.so)

# Debian keeps venv and the headers apart from Python; root may install what is missing, others are told.
$(VENV)/bin/python:
	@$(PYTHON) -c 'import ensurepip, os, sysconfig; assert os.path.exists(sysconfig.get_path("include") + "/Python.h")' 2>/dev/null \
	  || { [ "$$(id -u)" = 0 ] && $(UPDATE) && apt-get -qy install python3-venv python3-dev; } \
	  || { echo "make: Python's venv or headers are missing; as root: apt-get install python3-venv python3-dev" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# Pages are tested in real browsers, the daemon by SpamAssassin's own client and by a real mail server,
# a shared journal on a real PostgreSQL, its unit by systemd itself, the speed by counting instructions; without them
# those tests are skipped.
maildrop procmail spamc: APT_OPTIONS := --no-install-recommends  # which would be a mail server, SpamAssassin's daemon
firefox-esr postgresql: APT_OPTIONS := --no-install-recommends
clang-14: PACKAGES := clang-14 libclang-rt-14-dev
postgresql: IS_THERE = ls /usr/lib/postgresql/*/bin/postgres
dovecot: PACKAGES := dovecot-imapd dovecot-lmtpd dovecot-sieve
systemd-analyze: PACKAGES := systemd
systemd-analyze: APT_OPTIONS := --no-install-recommends
# Tests start a Postfix, a Dovecot and a PostgreSQL of their own: as services of this machine they are not started.
postfix: BEFORE = echo "postfix postfix/main_mailer_type select No configuration" | debconf-set-selections &&
$(PROGRAMS) clang-14: export DEBIAN_FRONTEND := noninteractive
$(PROGRAMS) clang-14: export RUNLEVEL := 1
$(PROGRAMS) clang-14:
	@$(or $(IS_THERE),command -v $@) >/dev/null 2>&1 \
	  || { [ "$$(id -u)" = 0 ] && $(BEFORE) $(UPDATE) && apt-get -qy $(APT_OPTIONS) install $(or $(PACKAGES),$@); } \
	  || echo "make: $@ is missing, so the tests that need it are skipped; as root: apt-get install $(or $(PACKAGES),$@)" >&2

# A machine has room for one mail server. Exim and Sendmail are only unpacked, into build, for tests to start from there.
exim: PACKAGES := exim4-daemon-heavy
sendmail: PACKAGES := sendmail-bin sendmail-cf m4
exim sendmail:
	@[ -e build/$@/unpacked ] \
	  || { [ "$$(id -u)" = 0 ] && rm -rf build/$@ && mkdir -p build/$@/partial && $(UPDATE) \
	    && apt-get -qy --no-install-recommends --reinstall --download-only -o Dir::Cache::archives="$(CURDIR)/build/$@" \
	      -o APT::Sandbox::User=root install $(PACKAGES) libnss-wrapper \
	    && (for each in build/$@/*.deb; do dpkg -x $$each build/$@/root && rm $$each || exit; done) && touch build/$@/unpacked; } \
	  || echo "make: $@ could not be unpacked, so the tests that need it are skipped; as root on Debian: make $@" >&2

$(VENV)/.user: $(SOURCES) | $(VENV)/bin/python
	$(BIN)/pip install -q --disable-pip-version-check -e .
	@touch $@

$(VENV)/.developer: $(SOURCES) | $(VENV)/bin/python
	$(BIN)/pip install -q --disable-pip-version-check -e '.[dev]'
	@touch $@ $(VENV)/.user

$(VENV)/.fuzz: $(VENV)/.developer
	$(BIN)/pip install -q --disable-pip-version-check 'atheris>=3.0' 'Cython>=3.1'
	@touch $@

$(VENV)/.bench: $(VENV)/.developer
	$(BIN)/pip install -q --disable-pip-version-check -e '.[dev,bench]'
	@touch $@
