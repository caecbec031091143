# Every target works as the first command on a fresh clone: the environment is made when it is missing or
# when pyproject.toml or constraints.txt changed. Pass extra arguments with ARGS, e.g. make test ARGS="-k tree".

VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
DEMO_INSTALLED := $(VENV)/.installed-demo
DOCS_INSTALLED := $(VENV)/.installed-docs
QUALITY_INSTALLED := $(VENV)/.installed-quality
# The tools of a release have an environment of their own: they need none of the package's dependencies.
DIST_VENV := build/dist-tools
DIST_INSTALLED := $(DIST_VENV)/.installed
ARGS ?=
# One process of tests per core; the tests of one file stay together and share what they fit.
PYTEST := $(BIN)/python -m pytest --numprocesses auto --dist loadfile

# python3.11 where it runs, else a python3 that is new enough. (A shim may exist and not run: so try it.)
PYTHON ?= $(shell for candidate in python3.11 python3; do \
	if $$candidate -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; \
	then echo $$candidate; break; fi; done)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo check test reproduce results verify-results lint format fuzz coverage mutation oldest matrix bench docs tutorials figures gallery explorer dist clean

help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(DEMO_INSTALLED) ## Topics of the docstrings of installed packages, a classifier from 100 labels, a page to open
	$(BIN)/python examples/docstrings.py $(ARGS)

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

reproduce: $(INSTALLED) ## Run an experiment, e.g. ARGS="run few-labels --data subj" (ARGS=list lists them)
	$(BIN)/python -m reproduce $(or $(ARGS),--help)

results: $(INSTALLED) ## Fill the tables, numbers and pictures of the pages from the stored runs; measures nothing
	$(BIN)/python -m reproduce pages

verify-results: $(INSTALLED) ## Measure N random stored cells again and compare (TSENET_DATA)
	$(BIN)/python -m reproduce verify $(N)
N ?= 5

fuzz: $(INSTALLED) ## Load and use 100,000 mutants of model files and tables, with kernels that check their indices
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(CURDIR)/.fuzz PYTHONPATH=. $(BIN)/python -m tests.reliability.fuzz $(or $(ARGS),--mutants 100000)
	TSENET_KILLS=20 $(BIN)/python -m pytest -q tests/reliability/test_signals.py

coverage: $(QUALITY_INSTALLED) ## Branches of src that the tests run, kernels in Python mode; a long run (ARGS go to pytest)
	rm -f .coverage .coverage.*
	$(BIN)/coverage run -m pytest --numprocesses auto --dist loadfile $(ARGS)
	NUMBA_DISABLE_JIT=1 $(BIN)/coverage run -m pytest --numprocesses auto --dist loadfile -W ignore $(PYTHON_MODE) $(ARGS)
	$(BIN)/coverage combine
	$(BIN)/coverage report

# Tests that call kernels directly, on data small enough for plain Python.
PYTHON_MODE := tests/network/test_sparse_linear.py tests/network/test_kernels.py tests/skeleton/kernels tests/topics/test_topic_kernels.py \
	tests/expansion

mutation: $(QUALITY_INSTALLED) ## Change modules in small ways in a copy of the tree; do their tests notice? (ARGS=--help)
	$(BIN)/python scripts/mutation.py $(ARGS)

oldest: ## Run the fast tests and all scikit-learn checks with the lowest versions that pyproject.toml allows
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/pip install --quiet --disable-pip-version-check -c constraints-oldest.txt \
		-e ".[plot,text]" "torch==$(OLDEST_TORCH)" pytest hypothesis polars
	NUMBA_CACHE_DIR=$(CURDIR)/.venv-oldest/numba .venv-oldest/bin/python -m pytest -q $(OLD_WARNINGS) -m "not slow and not data" $(WITHOUT_EXTRAS) $(ARGS)
	NUMBA_CACHE_DIR=$(CURDIR)/.venv-oldest/numba .venv-oldest/bin/python -m pytest -q $(OLD_WARNINGS) tests/estimators/test_base_sklearn_checks.py tests/estimators/test_network.py tests/estimators/test_tree_transformer.py $(ARGS)
OLDEST_TORCH ?= 2.4.0
OLD_WARNINGS := -W "ignore:You are using .torch.load:FutureWarning"  # torch's own, when it reads a pickle
# What needs packages that only the development install has; and early versions of typer load rich for --help.
WITHOUT_EXTRAS := --ignore=tests/store/test_onnx_export.py --ignore=tests/store/test_bif.py --ignore=tests/docs --ignore=tests/test_docs.py \
	--ignore=tests/browser --ignore=tests/labelling --ignore=tests/cli/test_label.py --ignore=tests/benchmarks --ignore=tests/reproduce --ignore=tests/explain/test_topic_scores.py --ignore=tests/test_canaries.py \
	--ignore=tests/contract/test_references.py --ignore=tests/contract/test_release.py \
	--deselect=tests/cli/test_app.py::TestHelp::test_loads_nothing_heavy

matrix: ## Install without torch, and test predictions, trees and files, with each Python 3.11 to 3.13 at hand
	@for version in $(VERSIONS); do \
		found=$$(ls $$HOME/.pyenv/versions/$$version.*/bin/python 2>/dev/null | tail -1); found=$${found:-python$$version}; \
		if ! $$found -c "import sys; sys.exit('%d.%d' % sys.version_info[:2] != '$$version')" >/dev/null 2>&1; then \
			echo "Python $$version is not installed: not tested" >&2; continue; fi; \
		echo "== Python $$version" && $$found -m venv .venv-$$version && \
		.venv-$$version/bin/pip install --quiet --disable-pip-version-check -e ".[text]" pytest hypothesis polars && \
		NUMBA_CACHE_DIR=$(CURDIR)/.venv-$$version/numba .venv-$$version/bin/python -m pytest -q -p no:cacheprovider $(WITHOUT_TORCH) $(ARGS) \
		|| exit 1; done
VERSIONS ?= 3.11 3.12 3.13
# Those that fit networks need torch.
WITHOUT_TORCH := tests/skeleton tests/expansion tests/topics tests/oracle tests/data --ignore=tests/data/test_blocks.py \
	--deselect=tests/data/test_dates.py::test_models_read_new_dates_as_those_of_training \
	--deselect=tests/expansion/test_context.py::test_sparse_rows_are_wired_by_context_and_dense_ones_by_information

bench: $(INSTALLED) ## Run the benchmarks (ARGS go to benchmarks)
	$(BIN)/python -m benchmarks $(ARGS)

docs: $(DOCS_INSTALLED) ## Build the documentation site into site/ and check its links
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict $(ARGS)
	$(BIN)/python scripts/check_links.py site

tutorials: $(DOCS_INSTALLED) ## Run the tutorials and store their output (ARGS=topics runs one)
	$(BIN)/python scripts/tutorials.py $(ARGS)

figures: $(DOCS_INSTALLED) ## Redraw the figures of the method
	$(BIN)/python scripts/method_figures.py

gallery: $(DOCS_INSTALLED) ## Redraw the pictures of the gallery; those of large data sets need TSENET_DATA
	PYTHONPATH=. $(BIN)/python scripts/gallery.py $(ARGS)

explorer: ## Check, test and build the report page's program from explorer-src/ (needs Node.js)
	cd explorer-src && npm ci && npm run lint && npm test && npm run build

dist: $(DIST_INSTALLED) ## Build wheel and sdist, check both, run README's examples from the wheel, SBOM, audit (ARGS=--require-audit)
	$(DIST_VENV)/bin/python scripts/dist.py $(ARGS)

clean: ## Remove the environment, caches and built files
	rm -rf $(VENV) .venv-* .mutation .coverage build dist site demo out explorer-src/node_modules .mypy_cache .pytest_cache .ruff_cache .hypothesis .fuzz
	find src tests benchmarks examples reproduce -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

$(INSTALLED): pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "tsenet needs Python 3.11 or newer: make PYTHON=/path/to/python" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	@touch $@

# What the demo needs; the development extras are ten times as large.
$(DEMO_INSTALLED): pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "tsenet needs Python 3.11 or newer: make PYTHON=/path/to/python" >&2; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[train,plot]"
	@touch $@

$(QUALITY_INSTALLED): $(INSTALLED)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[quality]"
	@touch $@

$(DOCS_INSTALLED): $(INSTALLED)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[docs]"
	@touch $@

$(DIST_INSTALLED): scripts/dist-requirements.txt
	@test -n "$(PYTHON)" || { echo "tsenet needs Python 3.11 or newer: make PYTHON=/path/to/python" >&2; exit 1; }
	$(PYTHON) -m venv $(DIST_VENV)
	$(DIST_VENV)/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@
