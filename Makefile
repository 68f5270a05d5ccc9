# make serve  reads the site at a local address     make site   proves the pages, builds site/
# make test   runs every check, the browser's too   make update rewrites the outputs on the pages
# make bench  measures, as ratios                   make drill  breaks things and counts what is caught

BIN := .venv/bin
PYTHON ?= python3
export NO_MKDOCS_2_WARNING := 1

.PHONY: serve test site bench update drill
.DEFAULT_GOAL := serve

serve: .venv/ready
	$(BIN)/mkdocs serve

test: .venv/browser
	@echo "== Style and types"
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	@echo "== Pages, library and site; the first time the labs run, for some minutes"
	$(BIN)/pytest --cov --cov-report=term:skip-covered

site: .venv/ready
	@echo "== Proving the pages"
	$(BIN)/pytest README.md CONTRIBUTING.md docs
	@echo "== Building the site"
	$(BIN)/mkdocs build --strict

bench: .venv/browser
	$(BIN)/python bench/attention.py
	$(BIN)/python bench/site.py

update: .venv/ready
	$(BIN)/python -m proseproof update

drill: .venv/ready
	$(BIN)/python -m proseproof drill --seed 1

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
