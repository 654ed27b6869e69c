"""How Sphinx builds the site: ``sphinx-build -W --keep-going docs docs/_build/html``."""

import html
import re
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

import sparseopt

project = "sparseopt"
author = "The sparseopt developers"
copyright = author
release = version = installed_version("sparseopt")

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "examples", "**/GALLERY_HEADER.rst"]
templates_path = ["_templates"]

# The pages are Markdown that reads well on its own, and links as in a folder of files.
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4

autosummary_generate = True
autodoc_typehints = "none"  # the docstrings have them
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"  # a method's name fits beside the text, its class's not
numpydoc_show_class_members = False

# Every example runs in a fresh interpreter's state, and one that fails fails the build.
sphinx_gallery_conf = {
    "examples_dirs": ["examples/tutorials", "examples/gallery"],
    "gallery_dirs": ["tutorials", "gallery"],
    "filename_pattern": r"/\d\d_",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "default_thumb_file": str(Path(__file__).parent / "_static" / "verified.png"),
    "capture_repr": ("_repr_html_",),
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
    "min_reported_time": 1e9,
    "write_computation_times": False,
}

html_theme = "pydata_sphinx_theme"
html_math_renderer = "mathml"
html_sidebars = {"index": [], "start": []}
html_title = "sparseopt"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "header_links_before_dropdown": 7,
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},  # room for its picture
    "show_prev_next": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}

_FITTED = re.compile(r"(\*\*.*?\*\*)|(?<![\\\w`*.:{|])([A-Za-z]\w*_)(?=[\s,.;:)']|$)")
"""A strong passage, which stays as it is, or the name of a fitted attribute."""


def _fitted_attributes(
    app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Set ``coef_`` and the like as code; reStructuredText takes them for references."""
    for i, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...", "..")):
            lines[i] = _FITTED.sub(lambda found: found[1] or f"``{found[2]}``", line)


def _mathml(text: str, *, block: bool) -> str:
    """Return a formula as MathML, which browsers show without a script from elsewhere."""
    text = re.sub(r"\\[bB]igg?[lrm]?(?![a-zA-Z])", "", text)  # sizes: MathML stretches by itself
    text = text.replace(r"\dots", r"\ldots")
    if block and r"\\" in text and r"\begin" not in text:
        text = rf"\begin{{aligned}}{text}\end{{aligned}}"
    try:
        return str(tex2mathml(text, as_block=block))
    except MathError as error:
        logging.getLogger(__name__).warning("%s: %s", text, error)
        return f"<code>{html.escape(text)}</code>"


def _inline_mathml(self: Any, node: Any) -> None:
    self.body.append(_mathml(node.astext(), block=False))
    raise nodes.SkipNode


def _block_mathml(self: Any, node: Any) -> None:
    self.body.append(f'<div class="math">{_mathml(node.astext(), block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> None:
    """Register what is not an extension of its own, and compile what the examples run."""
    sparseopt.warm_up()
    app.add_html_math_renderer("mathml", (_inline_mathml, None), (_block_mathml, None))
    app.connect("autodoc-process-docstring", _fitted_attributes, priority=900)
