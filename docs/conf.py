"""How Sphinx shows these pages; ``make docs`` builds them (``tools/docs_site.py``)."""

from ironstride import __version__

project = "ironstride"
author = "the ironstride developers"
copyright = author
release = version = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "docs_site",  # ours, in tools/
]
myst_heading_anchors = 4
napoleon_custom_sections = [("Source", "params_style"), "Source"]
napoleon_use_rtype = False
napoleon_use_ivar = True
autodoc_typehints = "signature"
autodoc_member_order = "groupwise"
python_maximum_signature_line_length = 90
python_use_unqualified_type_names = True
maximum_signature_line_length = 90

html_theme = "furo"
html_title = f"ironstride {__version__}"
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_copyright = False
html_show_sphinx = False
highlight_language = "python"
suppress_warnings = ["ref.python"]  # a class that two packages give has two targets
