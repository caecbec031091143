# Every target works as the first command on a fresh clone: the environment is made when it is missing or
# when pyproject.toml or constraints.txt changed. Pass extra arguments with ARGS, e.g. make test ARGS="-k tree".

VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
DOCS_INSTALLED := $(VENV)/.installed-docs
ARGS ?=
# One process of tests per core; the tests of one file stay together and share what they fit.
PYTEST := $(BIN)/python -m pytest --numprocesses auto --dist loadfile

# python3.11 where it runs, else a python3 that is new enough. (A shim may exist and not run: so try it.)
PYTHON ?= $(shell for candidate in python3.11 python3; do \
	if $$candidate -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; \
	then echo $$candidate; break; fi; done)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo check test reproduce results lint format fuzz bench docs explorer clean

help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(INSTALLED) ## Learn the tree of the bundled digits, draw its pixel groups, train its network and three others
	$(BIN)/python examples/digits.py $(ARGS)

check: lint ## Lint, type-check and run the fast tests (ARGS go to pytest)
	$(PYTEST) -m "not slow and not data" $(ARGS)

test: lint ## Lint, type-check and run all tests (ARGS go to pytest)
	$(PYTEST) $(ARGS)

lint: $(INSTALLED) ## ruff and mypy only
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict src reproduce examples

format: $(INSTALLED) ## Rewrite the code as ruff likes it
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

reproduce: $(INSTALLED) ## Run an experiment of the paper, e.g. ARGS="table3 --datasets digits --quick" (ARGS=--help lists them)
	$(BIN)/python -m reproduce $(or $(ARGS),--help)

results: $(INSTALLED) ## Write the results pages anew from the stored runs in docs/results/runs; runs nothing
	$(BIN)/python -m reproduce.pages $(ARGS)

fuzz: $(INSTALLED) ## Load and use 100,000 mutants of model files and tables, with kernels that check their indices
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(CURDIR)/.fuzz PYTHONPATH=. $(BIN)/python -m tests.reliability.fuzz $(or $(ARGS),--mutants 100000)
	TSENET_KILLS=20 $(BIN)/python -m pytest -q tests/reliability/test_signals.py

bench: $(INSTALLED) ## Run the benchmarks (ARGS go to benchmarks)
	$(BIN)/python -m benchmarks $(ARGS)

docs: $(DOCS_INSTALLED) ## Build the documentation site into site/
	$(BIN)/python -m mkdocs build --strict $(ARGS)

explorer: ## Check, test and build the report page's program from explorer-src/ (needs Node.js)
	cd explorer-src && npm ci && npm run lint && npm test && npm run build

clean: ## Remove the environment, caches and built files
	rm -rf $(VENV) build dist site demo out explorer-src/node_modules .mypy_cache .pytest_cache .ruff_cache .hypothesis .fuzz
	find src tests benchmarks examples reproduce -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

$(INSTALLED): pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "tsenet needs Python 3.11 or newer: make PYTHON=/path/to/python" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	@touch $@

$(DOCS_INSTALLED): $(INSTALLED)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[docs]"
	@touch $@
