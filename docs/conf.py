"""How the site is built: ``make docs``."""

import sys
from pathlib import Path

import fctlab

sys.path.insert(0, str(Path(__file__).parent / "ext"))

project = "fctlab"
version = release = fctlab.__version__
copyright = "the authors of fctlab"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "reference",  # docs/ext
]
exclude_patterns = ["ext"]
nitpicky = True
nitpick_ignore_regex = [
    # Other projects' types: their inventories would be asked for over the network.
    (r"py:.*", r"(pl|polars|np|numpy|matplotlib|Figure|NDArray|pa|pyarrow|msgspec)\b.*"),
    (r"py:.*", r"(typing|collections|concurrent|os|pathlib|types)\..*|Path"),
    (r"py:.*", r"markupsafe\..*"),
    # Aliases that docstrings say in words, and what is not meant to be made by hand.
    (r"py:.*", r"\w+Like|Drawing|Policy|Told|Spec|Metric"),
    (r"py:.*", r"fctlab\.(_native|jobs|results\.store|results\.kinds|scenario|report\.\w+)\..*"),
]

myst_heading_anchors = 5
myst_enable_extensions = ["colon_fence", "deflist"]
suppress_warnings = ["myst.header"]  # a cell of a table may start a passage below its level

default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True}
napoleon_numpy_docstring = False

html_theme = "furo"
html_title = "fctlab"
html_copy_source = False
html_show_sphinx = False
html_show_search_summary = False  # fetched, which pages opened as files may not
html_theme_options = {
    "navigation_with_keys": True,
    "light_css_variables": {"font-stack": "system-ui, sans-serif"},
}
html_static_path = ["_static"]
html_css_files = ["site.css"]
