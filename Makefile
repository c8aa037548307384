# make demo   installs gumption into .venv and runs the main job
# make test   installs it with the developer tools and runs lint, type check and tests

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TYPECHECK := build/typecheck

.PHONY: demo test

demo: $(VENV)/installed
	$(BIN)/gumption demo

# The type checker does not see through the mapping of folders to gumption.*, so it reads an installed copy.
# Older build results go first: setuptools would copy modules that no longer exist.
test: $(VENV)/installed-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	rm -rf build
	$(BIN)/pip install --quiet --no-deps --no-build-isolation --target $(TYPECHECK) .
	$(BIN)/basedpyright --pythonpath $(BIN)/python $(TYPECHECK)/gumption
	$(BIN)/pytest -n 2

$(VENV)/installed: $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/pip install --quiet -c constraints.txt -e .
	touch $@

$(VENV)/installed-dev: $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/pip install --quiet -c constraints.txt -e ".[dev]"
	touch $@

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
