# The two commands: `make demo` and `make test`. Everything else is for those who change tacit.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BARE := $(VENV)/.bare
STAMP := $(VENV)/.installed
SYSTEM := $(VENV)/.system
SPARK := .venv-spark/.installed
DEEP := .venv-deep/.installed
WORKERS ?= 2

.PHONY: help demo tour test test-all test-spark test-deep check format fuzz mutate bench bench-peers map docs lock clean
.DEFAULT_GOAL := help

help: ## what there is to make
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 12

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# uv where there is one, else pip; both read the same pins
UV := $(shell command -v uv 2>/dev/null)
PIP := $(if $(UV),uv pip install --quiet --python $(BIN)/python,$(BIN)/python -m pip install --quiet --disable-pip-version-check)

# tacit and what it cannot do without: all that the demo needs
$(BARE): pyproject.toml constraints.txt | $(BIN)/python
	@$(PIP) --constraint constraints.txt --editable .
	@touch $@

# with every extra and every tool, on top of that
$(STAMP): $(BARE)
	@$(if $(UV),,$(PIP) --upgrade 'pip>=25.1')
	@$(PIP) --constraint constraints.txt --editable '.[accounting,attack,fast,frames,learn,mcp,notebook,plot,polars,postgres,release,server,spark,sqlalchemy,twin]' --group dev
	@touch $@

$(SYSTEM): scripts/system_packages.sh | $(BIN)/python
	@scripts/system_packages.sh
	@touch $@

demo: $(BARE) ## set up, and ask textbook questions of a million rows
	@$(BIN)/tacit demo

tour: $(BARE) ## a short tour of the mechanisms
	@$(BIN)/python scripts/tour.py

test: $(STAMP) $(SYSTEM) ## set up, and run the tests
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --durations=15 -m "not heavy and not cluster"

test-all: $(STAMP) $(SYSTEM) ## the tests, and those that take minutes
	$(BIN)/python scripts/run_twice.py -n $(WORKERS) --dist worksteal --durations=15 -m "not cluster"

# a real Spark, of which pyspark holds all but Java; apart from our own environment, whose client has the same name
$(SPARK): scripts/system_packages.sh
	@scripts/system_packages.sh spark
	@$(PYTHON) -m venv .venv-spark
	@.venv-spark/bin/python -m pip install --quiet --disable-pip-version-check pyspark==4.2.0 && touch $@ || \
	  echo "not installed: pyspark. The tests on a cluster will be skipped." >&2

test-spark: $(STAMP) $(SPARK) ## the tests on a Spark cluster of this machine
	SPARK_HOME=$$(echo $(CURDIR)/.venv-spark/lib/python*/site-packages/pyspark) \
	  $(BIN)/python -m pytest -m cluster tests/conformance/test_engines.py tests/e2e

# torch, as large as all the rest together: apart from our own environment, whose packages it borrows
$(DEEP): $(STAMP)
	@$(PYTHON) -m venv .venv-deep
	@.venv-deep/bin/python -m pip install --quiet --disable-pip-version-check torch==2.13.0 && touch $@ || \
	  echo "not installed: torch. The tests of deep models will not be collected." >&2

test-deep: $(DEEP) ## the tests of deep models, with torch
	PYTHONPATH=$$(echo $(CURDIR)/.venv-deep/lib/python*/site-packages) $(BIN)/python -m pytest -n0 -m deep tests/unit/test_learn_deep.py

check: $(STAMP) ## format, lint, types, import contracts
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python scripts/import_map.py --check
	$(BIN)/python scripts/reference.py --check

format: $(STAMP) ## put the code into its usual shape
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

mutate: $(STAMP) ## plant faults in what guards money and privacy, and report those that no test notices
	$(BIN)/python scripts/mutate.py --sample 40

fuzz: $(STAMP) ## remove every unit of random tables, a million times over
	$(BIN)/python scripts/fuzz.py

bench: $(STAMP) ## measure speed against peers, as ratios in one run
	$(BIN)/python -m bench

bench-peers: $(STAMP) ## measure OpenDP, SmartNoise SQL and PipelineDP, each in its own environment
	$(BIN)/python -m bench.peers

map: $(STAMP) ## draw the rooms and their imports into docs/
	$(BIN)/python scripts/import_map.py

docs: map ## renew what is generated in docs/: the map and the reference
	$(BIN)/python scripts/reference.py

lock: $(STAMP) ## renew the pins from what is installed
	$(BIN)/python -m pip list --format=freeze --exclude-editable --exclude pip --exclude setuptools --exclude uv > constraints.txt

clean: ## remove what make made
	rm -rf $(VENV) .venv-spark .venv-deep .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
