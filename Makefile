# The two commands: `make play` serves the site, `make test` runs every check.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# A production environment, whatever the user's own says.
CHECK := env -i PATH="$$PATH" HOME="$$HOME" ONITAMA_DATA=$(VENV)/check \
	SITE_URL=https://onitama.example EMAIL_URL=smtp://mail.onitama.example $(BIN)/python manage.py

.PHONY: play test suite lint engine format lock venv runtime development

play: runtime
	@exec $(BIN)/python -m onitama_site.runner

# The tests wait now and then, and the types are checked meanwhile.
test: development
	@$(MAKE) --no-print-directory -j2 lint suite

suite: engine
	@exec $(BIN)/python -m tests

lint: development
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/djade --check --target-version 5.2 $$(find templates -name '*.html')
	$(BIN)/mypy
	$(CHECK) makemigrations --check --dry-run
	$(CHECK) check --deploy --fail-level WARNING

engine: development
	@NUMBA_CACHE_DIR=$(VENV)/numba $(BIN)/python -m games.engine.compile

format: development
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	$(BIN)/djade --target-version 5.2 $$(find templates -name '*.html')

# Needs uv, which nothing else does.
lock:
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
		--no-header -o requirements.txt pyproject.toml
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
		--no-header --extra push -c requirements.txt -o requirements-push.txt pyproject.toml
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
		--no-header --extra dev -c requirements-push.txt -o requirements-dev.txt pyproject.toml

venv:
	@$(BIN)/python -c 'import pip' 2>/dev/null || { \
		command -v $(PYTHON) >/dev/null || { \
			echo "$(PYTHON) is missing: install Python 3.11 to 3.15." >&2; exit 1; }; \
		$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
			echo "$$($(PYTHON) --version) is too old: install Python 3.11 to 3.15," \
				"or name another by PYTHON=python3.12." >&2; exit 1; }; \
		$(PYTHON) -c 'import sys; sys.exit(sys.version_info >= (3, 16))' || { \
			echo "$$($(PYTHON) --version) is too new for Numba, which the computer thinks with:" \
				"install Python 3.11 to 3.15, or name another by PYTHON=python3.12." >&2; exit 1; }; \
		$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
			echo "Python's venv module is missing: on Debian or Ubuntu," \
				"apt install python3-venv." >&2; exit 1; }; \
		$(PYTHON) -m venv --clear $(VENV); }

# A lock that was installed is kept beside the packages: equal means nothing to do. Python compiles
# what it imports; pip would compile everything, which takes a quarter of its time.
install = @cmp -s $(1) $(VENV)/$(1) || { \
	echo "Installing what $(1) lists (once, a few minutes)."; \
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile \
		--require-hashes -r $(1) \
		&& cp $(1) $(VENV)/$(1); }

runtime: venv
	$(call install,requirements.txt)

development: venv
	$(call install,requirements-dev.txt)
