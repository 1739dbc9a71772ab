"""How the documentation is built: Sphinx reads Markdown by MyST, and Furo is the theme. Run script/docs."""

import os
import sys
import tempfile
import tomllib
from pathlib import Path

from cryptography.fernet import Fernet

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
sys.path[:0] = [str(ROOT), str(DOCS / "_ext")]

# The reference is read from the panel's code, which needs settings but neither servers nor a home of its own.
os.environ["DJANGO_SETTINGS_MODULE"] = "panel.settings"
os.environ["POOLDECK_HOME"] = tempfile.gettempdir()
os.environ["POOLDECK_KEYS"] = os.environ["POOLDECK_SECRET_KEY"] = Fernet.generate_key().decode()
os.environ["DATABASE_URL"] = "sqlite://"

project = "Pooldeck"
release = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
extensions = ["myst_parser", "generated_parts", "inline_parts", "llms_txt"]
source_suffix = {".md": "markdown"}
# for those who work on the code, in the repository itself; and files that other pages offer for download
exclude_patterns = ["development", "pull", "prometheus", "grafana", "_*"]
nitpicky = True

myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "deflist"]
myst_links_external_new_tab = False

html_theme = "furo"
html_title = "Pooldeck"
html_static_path = ["_static"]
templates_path = ["_templates"]
html_favicon = "../static/img/favicon.svg"
html_show_copyright = False
html_copy_source = False
html_use_index = False
html_domain_indices = False
html_css_files = ["site.css"]
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b6579", "color-brand-content": "#0b6579"},
    "dark_css_variables": {"color-brand-primary": "#5cc4da", "color-brand-content": "#5cc4da"},
    "top_of_page_buttons": [],
}
pygments_style = "friendly"
pygments_dark_style = "monokai"
