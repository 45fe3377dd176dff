# Every target sets up what it needs on a machine with Python 3.11+, a C++20 compiler and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
DEMO := demo
BUILD_INPUTS := CMakeLists.txt pyproject.toml $(wildcard native/*)
CPP_FOLDERS := native tests/native benchmarks/instructions
CPP_SOURCES := $(wildcard $(foreach folder,$(CPP_FOLDERS),$(folder)/*.cpp $(folder)/*.hpp $(folder)/*.inc))

.PHONY: demo test check browser lint format bench bench-speed bench-clustering bench-multi-view bench-scale bench-baselines bench-quality \
	bench-communities bench-few-labels bench-anchors bench-paper docs sanitize clean
.DELETE_ON_ERROR:

# Python sources are picked up in place; a change of the C++ sources or of pyproject.toml builds and installs again.
$(INSTALLED): $(BUILD_INPUTS)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[all]' --group dev
	touch $@

# Three files with views of scikit-learn's digits, clustered by the command line; the last line says where the report is.
demo: $(INSTALLED)
	$(BIN)/python examples/digits_views.py $(DEMO)/digits
	$(BIN)/kedge fit $(DEMO)/digits -k 10 --label-column digit --out $(DEMO)/run --report --overwrite

PYTEST := $(BIN)/python -m pytest --numprocesses auto --dist worksteal

# What the core does, in a few minutes.
test: $(INSTALLED)
	$(PYTEST) -m "not check"

# All tests: also the site and its gallery, the benchmarks on tiny data, the report in a browser, killed processes, memory,
# and more random examples.
check: $(INSTALLED)
	$(PYTEST) --hypothesis-profile check

# Debian's Chromium and its driver, without which the tests of the report in a browser are skipped.
browser:
	@if command -v chromium >/dev/null && command -v chromedriver >/dev/null; then exit 0; fi; \
	if ! command -v apt-get >/dev/null; then \
		echo "make browser: put chromium and chromedriver on the PATH; without apt-get this cannot be done here" >&2; \
		exit 1; fi; \
	root=; if [ "$$(id -u)" != 0 ]; then root=sudo; \
		command -v sudo >/dev/null || { echo "make browser: run it as root, or install sudo" >&2; exit 1; }; fi; \
	{ $$root apt-get update --quiet=2 && $$root apt-get install --quiet=2 --yes chromium chromium-driver; } || \
		{ echo "make browser: chromium and chromium-driver could not be installed; see the lines above" >&2; exit 1; }

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $(CPP_SOURCES)
	$(BIN)/codespell

format: $(INSTALLED)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CPP_SOURCES)

# Rows per second of the row solver, then instruction counts, which need valgrind but no idle machine.
bench: $(INSTALLED)
	$(BIN)/python -m benchmarks.row_solver
	$(BIN)/python -m benchmarks.instructions

# Quality and seconds of a fit beside nine rivals; an hour, but it goes on where it stopped.
bench-speed: $(INSTALLED)
	$(BIN)/python -m benchmarks.speed

# Growth with the rows, new rows, linear subspaces, exact graphs; some minutes.
bench-clustering: $(INSTALLED)
	for program in scaling prediction subspaces exact; do \
		$(BIN)/python -m benchmarks.clustering.$$program || exit 1; done

# Several views beside single ones and k-means, missing views, speed; half an hour in all.
bench-multi-view: $(INSTALLED)
	for program in speed quality missing; do \
		$(BIN)/python -m benchmarks.multi_view.$$program || exit 1; done

# Files of 8 GB, a hundred million rows, a Dask cluster of processes, plans beside the truth; an hour and a half in all.
bench-scale: $(INSTALLED)
	for program in out_of_core command_line dask_traffic ten_billion hundred_million plan; do \
		$(BIN)/python -m benchmarks.scale.$$program || exit 1; done

# The fast baselines on MNIST and the matching pursuit beside one row at a time; some minutes.
bench-baselines: $(INSTALLED)
	for program in mnist matching_pursuit; do $(BIN)/python -m benchmarks.baselines.$$program || exit 1; done

# The defaults beside UMAP, HDBSCAN, Leiden, k-means, spectral clustering and LSC; hours, but it goes on where it stopped.
bench-quality: $(INSTALLED)
	$(BIN)/python -m benchmarks.quality

# A few labels beside scikit-learn's semi-supervised methods, and pairs of rows; an hour in all.
bench-few-labels: $(INSTALLED)
	for program in accuracy calibration questions pairs; do $(BIN)/python -m benchmarks.few_labels.$$program || exit 1; done

# Communities of neighbour graphs beside leidenalg and igraph; some minutes.
bench-communities: $(INSTALLED)
	$(BIN)/python -m benchmarks.communities

# Thousands of k-means centres beside faiss, SuperKMeans and scikit-learn; some minutes.
bench-anchors: $(INSTALLED)
	$(BIN)/python -m benchmarks.anchors

# The paper's tables and figures beside ours, in reproduction/; hours, but it goes on where it stopped.
bench-paper: $(INSTALLED)
	$(BIN)/python -m benchmarks.paper

# The site, in docs/_build/html: pages, reference, and a gallery that runs all examples; one or two minutes.
docs: $(INSTALLED)
	$(BIN)/python -m sphinx -b html --fail-on-warning --keep-going --nitpicky -d docs/_build/doctrees docs docs/_build/html

# The C++ solver alone, under the address, undefined-behaviour and thread sanitizers.
sanitize:
	bash tests/native/run_sanitizers.sh 20000

clean:
	rm -rf $(VENV) build $(DEMO) browser-artefacts docs/_build docs/gallery docs/paper docs/reference
