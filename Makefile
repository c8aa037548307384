# make demo       installs gumption into .venv and runs the main job
# make test       installs it with the developer tools and runs lint, type check and the tests that are not slow
# make test-all   the slow tests
# make bench      measures gumption and its peers (hours), and writes the tables of the pages
# make docs       builds the documentation as a site: build/site/index.html

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TYPECHECK := build/typecheck

.PHONY: bench demo docs test test-all tests types

demo: $(VENV)/installed
	$(BIN)/gumption demo

# Types and tests run side by side: the type checker has one thread.
test: $(VENV)/installed-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(MAKE) --no-print-directory --jobs 2 types tests

# The type checker does not see through the mapping of folders to gumption.*, so it reads an installed copy.
# Older build results go first: setuptools would copy modules that no longer exist.
types: $(VENV)/installed-dev
	rm -rf build
	$(BIN)/pip install --quiet --no-deps --no-build-isolation --target $(TYPECHECK) .
	$(BIN)/basedpyright --pythonpath $(BIN)/python $(TYPECHECK)/gumption

# A worker takes a whole stretch of the tests, so that what a module's tests share is made once; at the end it steals.
tests: $(VENV)/installed-dev
	$(BIN)/pytest -n 2 --dist worksteal -m "not slow"

test-all: $(VENV)/installed-dev
	$(BIN)/pytest -n 2 --dist worksteal -m slow

bench: $(VENV)/installed-dev
	$(BIN)/python -m tests.bench.tables

docs: $(VENV)/installed-docs
	$(BIN)/python -m gumption.scripts.docs

$(VENV)/installed: $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/pip install --quiet -c constraints.txt -e ".[web]"
	touch $@

$(VENV)/installed-dev: $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/pip install --quiet -c constraints.txt -e ".[dev]"
	touch $@

$(VENV)/installed-docs: $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/pip install --quiet -c constraints.txt -e ".[docs]"
	touch $@

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
