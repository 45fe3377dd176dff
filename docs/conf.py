"""How the documentation is built: ``make docs``. Nothing is downloaded."""

import sys
from pathlib import Path

import kedge

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "kedge"
author = "The kedge developers"
copyright = author
version = release = kedge.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "sphinx_copybutton",
    "docstring_text",
    "repository_links",
]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
exclude_patterns = ["_build", "_templates", "_extensions"]
templates_path = ["_templates"]

myst_enable_extensions = ["dollarmath", "amsmath"]
# Pages link to single headings of each other.
myst_heading_anchors = 3

autosummary_generate = True
# Names are documented where users import them from.
autosummary_imported_members = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_attributes_as_param_list = True

# An unknown name ends the build; these are known.
nitpick_ignore_regex = [
    # Inner modules that docstrings mention and that are no part of the interface.
    (r"py:.*", r"kedge\.(readers|core|anchors|engines|datasets\.content)\..*"),
    (r"py:func", r"structured_graph"),
    # A property that the list of attributes describes.
    (r"py:obj", r"anchors_"),
]

sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["gallery"],
    # All programs run, whatever their names.
    "filename_pattern": r".*\.py$",
    "abort_on_example_error": True,
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_signature": False,
    "image_scrapers": ("matplotlib",),
}

html_theme = "furo"
html_title = f"kedge {release}"
html_show_sphinx = False
# Prompts and output are left out of what is copied.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
