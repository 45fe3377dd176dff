"""The site builds without a warning, and its gallery runs every example."""

import importlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("sphinx_gallery")

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
MADE_BY_BUILDS = ("_build", "gallery", "paper", "reference", "sg_execution_times.rst")
EXAMPLES = sorted(path.stem for path in (ROOT / "examples").glob("*.py"))


def build_site(root):
    """Build a copy of the pages, because a build writes beside them."""
    shutil.copytree(DOCS, root / "docs", ignore=shutil.ignore_patterns(*MADE_BY_BUILDS))
    shutil.copytree(ROOT / "examples", root / "examples", ignore=shutil.ignore_patterns("__pycache__", "digits"))
    for name in ("benchmarks", "src"):
        (root / name).symlink_to(ROOT / name)
    options = ["-b", "html", "--fail-on-warning", "--keep-going", "--nitpicky", "--quiet"]
    command = [sys.executable, "-m", "sphinx", *options, str(root / "docs"), str(root / "html")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=400)
    assert done.returncode == 0, done.stderr[-3000:]
    return root / "html"


def check_that_examples_ran_and_show_what_they_printed(site):
    assert len(EXAMPLES) >= 5
    for name in EXAMPLES:
        page = (site / "gallery" / f"{name}.html").read_text(encoding="utf-8")
        assert "sphx-glr-script-out" in page, name


def check_that_pages_of_the_paper_came_along(site):
    page = (site / "reproducing.html").read_text(encoding="utf-8")
    assert 'href="paper/six-data-sets.html"' in page
    assert (site / "paper" / "six-data-sets.html").exists()
    assert list((site / "_images").glob("complexity*.svg"))
    assert "../benchmarks/" not in page


def check_that_every_page_is_reached_from_the_first(site):
    first = (site / "index.html").read_text(encoding="utf-8")
    for page in DOCS.glob("*.md"):
        assert f'href="{page.stem}.html"' in first or page.stem == "index", page.name


def check_that_links_lead_somewhere(site):
    for page in site.rglob("*.html"):
        for target in re.findall(r'(?:href|src)="([^"#?]+)', page.read_text(encoding="utf-8")):
            if not re.match(r"[a-z]+:", target) and not target.startswith("//"):
                assert (page.parent / target).exists(), f"{page.relative_to(site)}: {target}"


# One test, so that parallel runs build the site once.
@pytest.mark.check("minutes")
def test_the_site_builds_runs_its_examples_and_holds_together(tmp_path):
    site = build_site(tmp_path)
    check_that_examples_ran_and_show_what_they_printed(site)
    check_that_pages_of_the_paper_came_along(site)
    check_that_every_page_is_reached_from_the_first(site)
    check_that_links_lead_somewhere(site)


@pytest.mark.parametrize("room", ["metrics", "datasets", "baselines", "comparison", "plots", "report", "kernels"])
def test_the_reference_lists_every_public_name(room):
    module = importlib.import_module(f"kedge.{room}")
    listed = set(re.findall(r"^   (\w+)$", (DOCS / "api.rst").read_text().split(f"kedge.{room}\n")[1], flags=re.M))
    own = {name for name in module.__all__ if getattr(getattr(module, name), "__module__", "kedge").startswith("kedge")}
    assert own <= listed


def test_the_reference_lists_the_names_of_the_package():
    import kedge

    section = (DOCS / "api.rst").read_text().split("currentmodule:: kedge\n")[1].split("currentmodule")[0]
    listed = set(re.findall(r"^   (\w+)$", section, flags=re.M))
    assert listed >= {name for name in kedge.__all__ if callable(getattr(kedge, name))}
