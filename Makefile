# Two commands set up everything: `make demo` and `make test`. Both are quick the second time.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test check lint types imports docs bench train-demo clean

$(VENV)/.core: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(INSTALL) --upgrade pip
	$(INSTALL) -e .
	touch $@

$(VENV)/.dev: $(VENV)/.core
	$(INSTALL) -e ".[train,serve,prove,bench]" --group dev
	touch $@

demo: $(VENV)/.core
	@$(BIN)/forthwith pull
	@$(BIN)/forthwith decide examples/dog_food.json
	@$(BIN)/forthwith decide examples/support_ticket.json

test: $(VENV)/.dev
	@$(BIN)/forthwith pull
	$(BIN)/pytest -q

check: lint types imports test docs

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/pyright --pythonpath $(BIN)/python

imports: $(VENV)/.dev
	$(BIN)/lint-imports

docs: $(VENV)/.dev
	$(BIN)/python docs/build_reference.py --check

bench: $(VENV)/.dev
	$(BIN)/python benchmarks/decide.py

train-demo: $(VENV)/.dev
	$(BIN)/python -m forthwith.training.demo

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis dist build
