# Each target sets up what it needs in .venv; python3 (3.11 or later) and make are all it takes.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SHARED ?= ../shared
JOBS ?= $(shell nproc 2>/dev/null || echo 2)

.PHONY: help campaign test test-long coverage check format benchmarks conformance user-models clean

help:
	@echo "make campaign    run the study 'replay with feedback' on the sample log"
	@echo "make test        run the tests"
	@echo "make test-long   run the tests that draw their inputs, with many more inputs"
	@echo "make coverage    run the tests and say which lines none of them reaches"
	@echo "make check       lint, types, import contracts"
	@echo "make format      format the code"
	@echo "make conformance write docs/conformance.md anew, from the logs and schedules in SHARED"
	@echo "make user-models write docs/user-models.md anew, from the logs in SHARED"
	@echo "make benchmarks  measure the speed of simulations"

# A marker, so that an interrupted installation is taken up again.
$(VENV)/installed: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or later is needed, this is " + sys.version if sys.version_info < (3, 11) else 0)'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

campaign: $(VENV)/installed
	$(BIN)/batsched-py campaign experiments/batsched_studies/replay_feedback/campaign.toml --jobs $(JOBS)

test: $(VENV)/installed
	$(BIN)/python -m pytest --numprocesses $(JOBS)

test-long: $(VENV)/installed
	HYPOTHESIS_PROFILE=long $(BIN)/python -m pytest --numprocesses $(JOBS) -m hypothesis

coverage: $(VENV)/installed
	$(BIN)/python -m pytest --numprocesses $(JOBS) --cov --cov-report term --cov-report html

check: $(VENV)/installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/installed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

benchmarks: $(VENV)/installed
	$(BIN)/python benchmarks/simulation.py
	$(BIN)/python benchmarks/messages.py sample
	$(BIN)/python benchmarks/simulator.py sample
	$(BIN)/python benchmarks/passes.py
	$(BIN)/python benchmarks/user_models.py sample

conformance: $(VENV)/installed
	$(BIN)/python experiments/batsched_studies/conformance/conformance.py --shared $(SHARED)

user-models: $(VENV)/installed
	$(BIN)/python experiments/batsched_studies/user_models/user_models.py --shared $(SHARED) --jobs $(JOBS)

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage* htmlcov
