# What people and CI run. Needed: Python >= 3.10, a Rust toolchain, a C compiler.
#
#   make build      build the engine and install fctlab into .venv
#   make dev        the same in seconds after a change in Rust; runs take longer
#   make demo       build, then the main job: DCTCP against pFabric on a 144-host leaf-spine
#   make test       every test: make lint test-rust test-python
#   make test-all   the same with every case of tests of chance and of engines beside each other
#   make test-fast  what says the most within two minutes
#   make uml        build the Linux that runs in virtual time (fctlab testbed), in minutes
#   make test-linux tests on it, and in namespaces
#   make host       the host tagger, which needs clang (docs/howto/host-tagger.md)
#   make bench      the reference benchmarks on this machine
#   make docs       the documentation, in target/site
#   make wheel      a wheel in dist/
#   make try-wheel  install that where there is no compiler, and run the demo there
#   make fuzz       fuzz every reader and engine; SECONDS=120 each unless said
#   make trust      fuzzing, digests of other builds, coverage, mutants, sdist, licences: docs/evidence/trust.md
#   make rustdoc, make clean

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python3.10; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null && echo $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/installed
RUST := Cargo.toml Cargo.lock $(shell find crates -type f)

# The pinned compiler (rust-toolchain.toml), or the one there is where it can neither be found nor fetched.
ifneq ($(shell rustc --version >/dev/null 2>&1 && echo found),found)
ifeq ($(shell RUSTUP_TOOLCHAIN=stable rustc --version >/dev/null 2>&1 && echo found),found)
$(warning the compiler of rust-toolchain.toml cannot be had; stable is taken, and numbers of instructions may differ)
export RUSTUP_TOOLCHAIN := stable
endif
endif

# Programs are started thousands of times: what Python compiles is kept, even where the environment says otherwise.
unexport PYTHONDONTWRITEBYTECODE

# A fifth of the time tests wait for programs that they start or kill: one worker more than there are cores.
export PYTEST_XDIST_AUTO_NUM_WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)

.PHONY: build dev demo test test-all test-fast lint test-rust test-python uml test-linux host bench docs rustdoc wheel try-wheel fuzz trust
.PHONY: clean tools trusted clippy formats stubs imports

build: $(INSTALLED)

demo: $(INSTALLED)
	$(BIN)/fctlab compare scenarios/websearch-leafspine.toml --schemes dctcp,pfabric --out results/demo

test: lint test-rust test-python

test-all: export FCTLAB_TESTS := all
test-all: test

# After a change and `make dev`, whose compiled crates it takes.
test-fast: $(VENV)/pyvenv.cfg formats
	cargo test --release --workspace --lib --quiet --config .cargo/dev.toml
	$(BIN)/pytest --numprocesses auto --quiet $(FAST:%=python/tests/test_%.py)

# Side by side, the longest first: half of them use one core.
lint: $(INSTALLED) tools
	$(MAKE) --no-print-directory --jobs 2 clippy docs formats stubs imports rustdoc

clippy:
	cargo clippy --release --workspace --all-targets -- -D warnings

formats:
	$(BIN)/ruff check python docs/conf.py docs/ext benches packaging fuzz
	$(BIN)/ruff format --check python docs/conf.py docs/ext benches packaging fuzz
	$(BIN)/mypy
	cargo fmt --check

stubs:
	$(BIN)/stubtest fctlab._native

imports:
	$(BIN)/lint-imports --no-cache > /dev/null || $(BIN)/lint-imports --no-cache

test-rust: $(INSTALLED)
	$(UNITS)
	cargo test --release --workspace --test '*'

test-python: $(INSTALLED) tools
	$(BIN)/pytest --numprocesses auto --dist loadgroup

FAST := dhall export_sonic files keys looks points start structure study_settle study_verdict

# Tests inside crates are small: they need no fast code. Those beside a crate run whole simulations, on the
# library that `make build` has made.
UNITS := cargo test --release --workspace --lib --config .cargo/units.toml

uml: $(INSTALLED)
	$(BIN)/fctlab testbed build

test-linux: uml host
	$(BIN)/pytest python/tests/test_testbed.py python/tests/test_linux_study.py python/tests/test_host_tagger.py

# Apart from everything else: it needs clang and the headers of libbpf.
host:
	cargo build --release --manifest-path host/Cargo.toml --target-dir target/host

bench: $(INSTALLED) tools
	$(BIN)/fctlab bench packet
	$(BIN)/fctlab bench model

# From nothing each time: pages hold what the code knows, whose changes Sphinx does not see.
docs: $(INSTALLED)
	$(BIN)/python -m sphinx --fail-on-warning --fresh-env --nitpicky --quiet docs target/site
	@echo "the documentation is in target/site/index.html"

rustdoc:
	RUSTDOCFLAGS="-D warnings" cargo doc --release --workspace --no-deps

wheel: $(VENV)/pyvenv.cfg
	@$(OTHER)
	$(BIN)/maturin build --release --out dist

try-wheel: $(VENV)/pyvenv.cfg
	@test -n "$$(ls dist/*.whl 2>/dev/null)" || $(MAKE) --no-print-directory wheel
	@$(BIN)/python packaging/try_wheel.py dist

fuzz: STEPS := fuzzing
fuzz: $(INSTALLED) trusted
	$(BIN)/python packaging/fuzz.py --seconds $(or $(SECONDS),120) $(TARGETS)

# Takes an hour; `make trust STEPS="digests coverage"` takes these steps alone.
trust: $(INSTALLED) trusted
	SECONDS=$(or $(SECONDS),120) TARGETS="$(TARGETS)" SHARD=$(or $(SHARD),0/80) $(BIN)/python packaging/trust.py $(STEPS)

clean:
	rm -rf $(VENV) target results dist python/fctlab/*.so
	find python -name __pycache__ -prune -exec rm -rf {} +

# Editable: a change in Python is there at once, a change in Rust builds anew (release, always). maturin is called
# in one way, so that nothing is compiled twice, and shows what cargo does. What is listed in the end is checked:
# a mistake in a preset ends the build.
DEVELOP := VIRTUAL_ENV="$(CURDIR)/$(VENV)" $(BIN)/maturin develop --release
# uv installs in seconds what takes pip minutes, where it finds the packages: it does not read pip's settings.
UV := VIRTUAL_ENV="$(CURDIR)/$(VENV)" $(BIN)/uv pip install --quiet
QUICK = $(if $(shell $(UV) --dry-run --reinstall maturin 2>/dev/null && echo found),--uv)
PIP = $(if $(QUICK),$(UV),$(BIN)/pip install --quiet)
LISTED := $(BIN)/fctlab list > /dev/null
# The library that was built last may be that of `make dev`, or of a test; for cargo it is this one.
OTHER := cargo clean --quiet --release --package fctlab-python 2>/dev/null || true

$(INSTALLED): $(VENV)/pyvenv.cfg $(RUST) pyproject.toml
	@echo "building the engine and installing fctlab into $(VENV); the first time takes minutes"
	@$(OTHER)
	$(DEVELOP) $(QUICK) --extras dev,docs
	@$(LISTED)
	@touch $@

# Whoever needs a release afterwards builds it.
dev: $(VENV)/pyvenv.cfg
	@rm -f $(INSTALLED)
	$(DEVELOP) --config .cargo/dev.toml $(if $(wildcard $(BIN)/fctlab),--skip-install,$(QUICK) --extras dev,docs)
	@$(LISTED)
	@echo "a development build: the same results, later; make build makes the fast one"

# Debian splits venv off Python; virtualenv, kept out of the system, does as well.
$(VENV)/pyvenv.cfg:
	@test -n "$(PYTHON)" || { echo "error: Python 3.10 or newer is needed" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) 2>/dev/null || { rm -rf $(VENV); \
		$(PYTHON) -m pip install --quiet --target target/virtualenv virtualenv && \
		PYTHONPATH=target/virtualenv $(PYTHON) -m virtualenv --quiet $(VENV); } || { rm -rf $(VENV); \
		echo "error: no way to make a virtual environment; install python3-venv (apt install python3-venv)" >&2; exit 1; }
	@$(BIN)/pip install --quiet 'maturin>=1.9.4,<2'
	@$(BIN)/pip install --quiet uv 2>/dev/null || true
	@touch $@

# What some tests and benchmarks need and say when they lack it. Installed where that takes no more than
# the rights that there are.
tools:
	@command -v valgrind >/dev/null || \
		{ test "$$(id -u)" = 0 && apt-get update -qq && apt-get install -qq -y valgrind; } >/dev/null 2>&1 || \
		echo "skipped: instructions are not counted without valgrind (sudo apt install valgrind)"
	@$(BIN)/python -c 'import ray' 2>/dev/null || $(PIP) ray 2>/dev/null || \
		echo "skipped: no jobs on a Ray cluster, since Ray cannot be had for this Python"
	@for found in chromium chromium-browser google-chrome; do command -v $$found >/dev/null && exit 0; done; \
		timeout 300 $(BIN)/playwright install --with-deps chromium >/dev/null 2>&1 || \
		{ test "$$(id -u)" = 0 && apt-get update -qq && apt-get install -qq -y chromium; } >/dev/null 2>&1 || \
		echo "skipped: pages are not opened in a browser, since Chromium cannot be had (sudo apt install chromium)"
	@for found in softflowd nfcapd tcpdump tshark; do command -v $$found >/dev/null || { \
		{ test "$$(id -u)" = 0 && apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y \
			--no-install-recommends softflowd nfdump tcpdump tshark; } >/dev/null 2>&1 || \
		echo "skipped: no flow logs of real programs (sudo apt install softflowd nfdump tcpdump tshark)"; \
		exit 0; }; done
	@cargo fmt --version >/dev/null 2>&1 && cargo clippy --version >/dev/null 2>&1 || \
		rustup component add rustfmt clippy

# What the steps of `make trust` and `make fuzz` need, where it can be had; they say what they lack.
ASKED = $(filter $(or $(STEPS),%),$(1))
NEEDED = $(if $(call ASKED,fuzzing),atheris) $(if $(call ASKED,advisories),pip-audit) \
	$(if $(call ASKED,sbom),cyclonedx-bom) $(if $(call ASKED,verdicts settling looks advice),cosmic-ray)
CRATES = $(if $(call ASKED,mutants),cargo-mutants) $(if $(call ASKED,licences),cargo-deny) \
	$(if $(call ASKED,sbom),cargo-cyclonedx)

define OLDEST
@oldest=$$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml); cargo +$$oldest --version >/dev/null 2>&1 || \
	rustup toolchain install $$oldest --profile minimal >/dev/null 2>&1 || true
endef
define LLVM
@llvm=$$(rustc -vV | sed -n 's/LLVM version: \([0-9]*\).*/\1/p'); command -v llvm-cov-$$llvm >/dev/null || \
	{ test "$$(id -u)" = 0 && apt-get update -qq && apt-get install -qq -y llvm-$$llvm; } >/dev/null 2>&1 || true
endef

trusted:
	@for found in $(NEEDED); do $(PIP) $$found 2>/dev/null || true; done
	@for found in $(CRATES); do \
		command -v $$found >/dev/null || cargo install --quiet --locked $$found 2>/dev/null || true; done
	$(if $(call ASKED,compilers),$(OLDEST))
	$(if $(call ASKED,coverage),$(LLVM))
