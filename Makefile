# Each target sets up what it needs in .venv; python3 (3.11 or later) and make are all it takes.
# .venv/bin/activate puts batsched-py on PATH.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SHARED ?= ../shared
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
# A file's tests stay in one process: what they share is made once. One process more than
# simulations, since many tests wait for another process.
PARALLEL := --numprocesses $(shell expr $(JOBS) + 1) --dist loadfile --no-loadscope-reorder
# The tests with the real thing are run by `make real`: they import images into engines.
WITHOUT_REAL := --ignore tests/real

.PHONY: help campaign test test-long model mutants lowest lock fuzz soak every-policy real test-rl coverage check format bench conformance site-log user-models semi-open rlscheduler claims real-page architecture pictures docs reference words clean

help:
	@echo "make campaign    run the study 'replay with feedback' on the sample log"
	@echo "make test        run the tests"
	@echo "make test-long   run the tests that draw their inputs, on many more, and whole logs"
	@echo "make model       check random simulations of everything together, for MINUTES=60"
	@echo "make mutants     measure how many small faults in the code the tests find"
	@echo "make lowest      run tests with the lowest versions of all libraries that are allowed"
	@echo "make lock        write requirements.lock anew, the newest versions that are allowed"
	@echo "make fuzz        feed everything that reads with wrong inputs, for MINUTES=60"
	@echo "make soak        run a million jobs with users, and a campaign that is killed all the time"
	@echo "make every-policy run all policies and user models on all logs in SHARED"
	@echo "make real        run the tests with Batsim, Docker, Compose and Slurm, as far as installed"
	@echo "make test-rl     train an agent by MaskablePPO; installs torch, 5.5 GB unless a CPU build is in .venv"
	@echo "make coverage    run the tests and say which lines none of them reaches"
	@echo "make check       lint, types, import contracts, wording of pages and messages"
	@echo "make format      format the code"
	@echo "make site-log    write the records of a made-up GPU site to out/site"
	@echo "make conformance write docs/validation/conformance.md and its data, from SHARED"
	@echo "make user-models write docs/validation/user-models.md and its data, from SHARED"
	@echo "make semi-open   write docs/validation/semi-open.md, its data and pictures"
	@echo "make rlscheduler write docs/validation/rlscheduler.md and its data, from SHARED"
	@echo "make claims      write docs/validation/claims.md and build/claims.html; judge RESULTS"
	@echo "make real-page   write docs/validation/real-batsim.md and its data, with Batsim"
	@echo "make architecture draw the picture of docs/project/architecture.md anew, from the imports"
	@echo "make pictures    draw the pictures of README, tutorials and gallery anew; needs Chromium and SHARED"
	@echo "make reference   write the tables of docs/reference anew, from the code"
	@echo "make words       check the wording, sentences and links of all pages and messages"
	@echo "make docs        write the website to build/site"
	@echo "make bench       measure the speed of everything, as ratios"

PIP_INSTALL := $(BIN)/python -m pip install --disable-pip-version-check

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or later is needed, this is " + sys.version if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)

# LOCKED=1 installs what developers need in the versions and with the hashes of requirements.lock.
LOCKED ?=
LOCK := requirements.lock

# Markers, so that an interrupted installation is taken up again: what users need, and with it what
# developers need. Python compiles what is imported; pip would compile all, tests of libraries too.
$(VENV)/base-installed: pyproject.toml | $(BIN)/python
	$(PIP_INSTALL) --no-compile --editable .
	touch $@

$(VENV)/installed: pyproject.toml | $(BIN)/python
ifeq ($(LOCKED),)
	$(PIP_INSTALL) --editable '.[dev]'
else
	$(PIP_INSTALL) --require-hashes --requirement $(LOCK)
	$(PIP_INSTALL) --no-deps --no-build-isolation --editable .
endif
	touch $@ $(VENV)/base-installed

# Where the tools of developers are, there is no need to install less.
campaign: $(if $(wildcard $(VENV)/installed),$(VENV)/installed,$(VENV)/base-installed)
	$(BIN)/batsched-py campaign experiments/batsched_studies/replay_feedback/campaign.toml --jobs $(JOBS)

test: $(VENV)/installed
	$(BIN)/python -m pytest $(PARALLEL) $(WITHOUT_REAL)

test-long: $(VENV)/installed
	HYPOTHESIS_PROFILE=long $(BIN)/python -m pytest $(PARALLEL) $(WITHOUT_REAL) -m 'hypothesis or long'

# TARGET is what is fed with inputs that nobody would write, MINUTES are for all targets together;
# FUZZ='--seed 1' gives the same inputs again.
MINUTES ?= 60
TARGET ?= all
fuzz: $(VENV)/installed
	PYTHONPATH=tests $(BIN)/python -m fuzz --minutes $(MINUTES) --target $(TARGET) --jobs $(JOBS) $(FUZZ)

# Half an hour; SOAK='--jobs 100000' takes less.
soak: $(VENV)/installed
	PYTHONPATH=tests $(BIN)/python -m soak $(SOAK)

# Results go to FOLDER; the same command goes on where it stopped.
FOLDER ?= campaigns/every_policy
every-policy: $(VENV)/installed
	PYTHONPATH=tests $(BIN)/python -m every_policy --shared $(SHARED) --folder $(FOLDER) --jobs $(JOBS)

# MODEL='--seed 1 --jobs 1' draws the same simulations again.
model: $(VENV)/installed
	PYTHONPATH=tests $(BIN)/python -m together --minutes $(MINUTES) --jobs $(JOBS) $(MODEL)

# MUTANTS='--known FILE' takes the mutants.csv of an earlier run, so that known killers come first.
mutants: $(VENV)/installed
	PYTHONPATH=tests $(BIN)/python -m mutants --jobs $(JOBS) $(MUTANTS)

# In .venv-lowest; LOWEST=--where-available says so and goes on where they cannot be installed.
lowest:
	PYTHONPATH=tests $(PYTHON) -m helpers.lowest_versions $(PARALLEL) $(LOWEST)

# For all versions of Python from 3.11 on; no registry is named in it.
lock: | $(BIN)/python
	$(PIP_INSTALL) uv
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --extra dev --extra docs \
		--generate-hashes --no-header --annotation-style line --no-emit-index-url --no-emit-find-links \
		--output-file $(LOCK) pyproject.toml

# What is installed and does not run is started for the tests. REAL=--install installs it, too, as
# root; what else REAL says is for pytest: REAL='-k slurm'.
real: $(VENV)/installed
	PYTHONPATH=tests $(BIN)/python -m real $(REAL)

# PyPI's torch is for GPUs. A CPU build that is in .venv already stays, see docs/install.md.
test-rl: $(VENV)/rl-installed
	$(BIN)/python -m pytest tests/rl

$(VENV)/rl-installed: $(VENV)/installed pyproject.toml
	$(PIP_INSTALL) --editable '.[rl]'
	touch $@

coverage: $(VENV)/installed
	$(BIN)/python -m pytest $(PARALLEL) $(WITHOUT_REAL) --cov --cov-report term --cov-report html

check: $(VENV)/installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python docs/words.py

reference: $(VENV)/installed
	$(BIN)/python docs/reference_pages.py

words: $(VENV)/installed
	$(BIN)/python docs/words.py

format: $(VENV)/installed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# BENCH='--quick' takes two minutes; the large logs are found by BATSCHED_LOGS. The version to be
# remembered is kept by BENCH='--keep benchmarks/history.jsonl --page docs/validation/performance.md'.
bench: $(VENV)/installed
	$(BIN)/python benchmarks $(BENCH)

conformance: $(VENV)/installed
	$(BIN)/python -m batsched_studies.conformance --shared $(SHARED)

# SEED=1 JOBS=200000 LOAD=0.8 POPULATION=site; here, JOBS are records.
site-log: $(VENV)/installed
	$(BIN)/python -m batsched_studies.gpu_site $(if $(SEED),--seed $(SEED)) $(if $(LOAD),--load $(LOAD)) \
		$(if $(filter command,$(firstword $(origin JOBS))),--jobs $(JOBS)) \
		$(if $(POPULATION),--population $(POPULATION))

user-models: $(VENV)/installed
	$(BIN)/python -m batsched_studies.user_models --shared $(SHARED) --jobs $(JOBS)

semi-open: $(VENV)/installed
	$(BIN)/python -m batsched_studies.semi_open --jobs $(JOBS)

rlscheduler: $(VENV)/installed
	$(BIN)/python -m batsched_studies.rlscheduler --shared $(SHARED) --jobs $(JOBS)

# RESULTS=campaigns/claims_at_size has folders of its campaigns, whose runs are packed and judged;
# AGAIN=1 judges all packed runs again, without the folders.
RESULTS ?=
claims: $(VENV)/installed
	$(BIN)/python -m batsched_studies.claims $(if $(RESULTS),--results $(RESULTS)) $(if $(AGAIN),--again)

real-page: $(VENV)/installed
	$(BIN)/python -m batsched_studies.real_batsim

architecture: $(VENV)/installed
	$(BIN)/python docs/architecture_picture.py

# PAGES='docs/gallery.md' draws those of some pages only.
PAGES ?=
pictures: $(VENV)/installed
	$(BIN)/python docs/pictures.py --logs $(SHARED)/swf $(PAGES)

$(VENV)/docs-installed: $(VENV)/installed pyproject.toml
	$(PIP_INSTALL) --editable '.[docs]'
	touch $@

docs: $(VENV)/docs-installed
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "the website is in build/site: open build/site/index.html"

clean:
	rm -rf $(VENV) .venv-lowest .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage* htmlcov
