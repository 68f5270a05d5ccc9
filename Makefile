# make serve  reads the site at a local address     make site   proves the pages, builds site/
# make test   runs every check, the browser's too   make update rewrites what pages and labs show
# make check  runs what your edit touches           make drill  breaks things and counts what is caught
# make bench  measures, as ratios
#
# What was proved or passed before, and of which nothing has changed, is not run again; in CI, and
# with make test AGAIN=1, everything is. make check compares with the last commit, or with SINCE=main.

BIN := .venv/bin
PYTHON ?= python3
SINCE ?= HEAD
override AGAIN := $(if $(AGAIN)$(CI),--prove-again)
export NO_MKDOCS_2_WARNING := 1
# One process a core, and so one thread a process.
test: export OMP_NUM_THREADS := $(or $(OMP_NUM_THREADS),1)

.PHONY: serve test check site bench update drill
.DEFAULT_GOAL := serve

serve: .venv/ready
	$(BIN)/mkdocs serve

test: .venv/browser .venv/weights
	@echo "== Style and types"
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	@echo "== Pages, library and site, side by side; the first time the labs run, for some minutes"
	$(BIN)/pytest -n logical $(AGAIN) --cov --cov-report=term:skip-covered

check: .venv/ready
	$(BIN)/ruff check
	$(BIN)/pytest --since $(SINCE)

site: .venv/ready .venv/weights
	@echo "== Proving the pages"
	$(BIN)/pytest $(AGAIN) README.md CONTRIBUTING.md docs
	@echo "== Building the site"
	$(BIN)/mkdocs build --strict

bench: .venv/browser .venv/weights
	$(BIN)/python bench/attention.py
	$(BIN)/python bench/generation.py
	$(BIN)/python bench/models.py
	$(BIN)/python bench/smollm2.py
	$(BIN)/python bench/site.py
	$(BIN)/python bench/workshop.py

update: .venv/ready .venv/weights
	$(BIN)/python -m sitekit.exports
	$(BIN)/python -m proseproof update

drill: .venv/browser .venv/weights
	$(BIN)/python -m proseproof drill --seed 1
	$(BIN)/python -m sitekit.drill --seed 1

.venv/ready: requirements.txt pyproject.toml
	@echo "== Setting up .venv; the first time this takes some minutes"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed")'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install -r requirements.txt
	@touch $@

.venv/browser: .venv/ready
	@echo "== Looking for Chromium"
	$(BIN)/python -m sitekit.chromium_for_tests
	@touch $@

# Two published models, for the labs and the tests; building the site alone needs neither.
.venv/weights: .venv/ready
	@echo "== Fetching two published models, 180 MB, unless they are there"
	$(BIN)/python -m headwise.models fetch minilm smollm2
	@touch $@
