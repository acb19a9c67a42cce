# SPDX-License-Identifier: Apache-2.0
# Sphinx configuration of the documentation site. Source folder: sdk/docs. The target `docs` sets the two environment variables.
import os
import pathlib
import shutil
import xml.etree.ElementTree as xml

from docutils import nodes
from sphinx import addnodes
from sphinx.domains.cpp import ASTDeclaration
from sphinx.util import logging

logger = logging.getLogger(__name__)

project = "Weir"
copyright = "the Weir authors, Apache-2.0"
version = release = os.environ["WEIR_VERSION"]

root_doc = "README"
extensions = ["myst_parser", "breathe"]
exclude_patterns = ["site/conf.py"]
templates_path = ["."]
suppress_warnings = []

myst_heading_anchors = 4

breathe_projects = {"weir": os.environ["WEIR_DOXYGEN_XML"]}
breathe_default_project = "weir"
breathe_default_members = ("members",)

html_theme = "furo"
html_title = f"Weir {version}"
html_additional_pages = {"index": "redirect.html"}
html_copy_source = False
html_static_path = ["site.css"]
html_css_files = ["site.css"]

NAVIGATION = """

```{toctree}
:hidden:
:caption: Guides

guides/install
guides/first-program
guides/arrays
guides/dlpack
guides/loops
guides/reductions
guides/algorithms
guides/streams
guides/graphs
guides/errors
guides/debugging
guides/profiling
guides/packs
guides/performance
guides/porting
guides/writing-a-driver
guides/proving-a-driver
```

```{toctree}
:hidden:
:caption: Reference

kernel-language
structs
host-api
streams
fusion
graphs
errors
environment
compile-cache
debugging
layers
cuda
amdgpu
vulkan
security
examples
demo
site/api/programs
site/api/kernels
```

```{toctree}
:hidden:
:caption: Drivers

driver-tutorial
other-languages
driver-abi
conformance
opencl-driver
communicators
writing-a-communicator
site/api/driver
```

```{toctree}
:hidden:
:caption: Weir itself

architecture
glossary
ir
spirv
hipsim
```
"""


def prepare_page(app, name, source):
    """Adds the navigation to the first page, and turns links to source files into their names."""
    if name == "README":
        source[0] += NAVIGATION
    for header in ("driver.h", "layer.h", "communicator.h", "sdk/table.hpp", "sdk/layer.hpp"):
        source[0] = source[0].replace(f"(../include/weir/{header})", "(site/api/driver.md)")
    source[0] = source[0].replace("(../examples/opencl_driver/README.md)", "(examples.md)")


# Headers of macros, of includes, and of parts of templates that programs do not name.
UNDOCUMENTED = ("weir/export.hpp", "weir/weir.hpp", "weir/kernel_arguments.hpp", "weir/returned_values.hpp",
                "weir/struct_members.hpp")


def check_headers(app):
    """Warns of public headers that no page of the API names."""
    docs = pathlib.Path(app.srcdir)
    pages = "".join(page.read_text() for page in (docs / "site/api").glob("*.md"))
    include = (docs.parents[1] / "core/include", docs.parent / "include")
    for folder in include:
        for header in [*folder.glob("weir/*.h*"), *folder.glob("weir/sdk/*.h*")]:
            name = header.relative_to(folder).as_posix()
            if name not in pages and name not in UNDOCUMENTED:
                logger.warning("no page in site/api names %s", name)


def add_namespace_members(app):
    """Copies the members of namespaces into the descriptions of their headers, where Doxygen lists only classes."""
    folder = pathlib.Path(os.environ["WEIR_DOXYGEN_XML"])
    members = {}
    for page in folder.glob("namespace*.xml"):
        for section in xml.parse(page).getroot().iter("sectiondef"):
            for member in section.iter("memberdef"):
                kinds = members.setdefault(member.find("location").get("file"), {})
                kinds.setdefault(section.get("kind"), []).append(member)
    for page in folder.glob("*_8h*.xml"):
        tree = xml.parse(page)
        header = tree.getroot().find("compounddef")
        for namespace in header.findall("innernamespace"):
            header.remove(namespace)  # Breathe leaves out classes of a namespace that it is to show itself
        for kind, found in members.get(header.find("location").get("file"), {}).items():
            section = next((s for s in header.findall("sectiondef") if s.get("kind") == kind), None)
            if section is None:
                section = xml.SubElement(header, "sectiondef", kind=kind)
            known = {member.get("id") for member in section}
            section.extend(member for member in found if member.get("id") not in known)
        tree.write(page, encoding="utf-8", xml_declaration=True)


def check_sections(app, doctree):
    """Warns of sections of the API that show no declaration."""
    if not app.env.docname.startswith("site/api/"):
        return
    for section in doctree.traverse(nodes.section):
        inner = [child for child in section.children if isinstance(child, nodes.section)]
        if not inner and not section.traverse(addnodes.desc):
            logger.warning("the section '%s' shows no declaration", section.astext().partition("\n")[0])


def keep_identifiers(app, env):
    """Computes the identifier of a declaration once. Sphinx 5 compares those of all declarations for each link, and computes
    them each time, which took half of the time of the site."""
    compute = ASTDeclaration.get_newest_id

    def get_newest_id(self):
        if not hasattr(self, "kept_identifier"):
            self.kept_identifier = compute(self)
        return self.kept_identifier

    ASTDeclaration.get_newest_id = get_newest_id


def include_normalize(app, exception):
    """Debian's Furo imports a style sheet from the root of its host; copies it into the site."""
    furo = pathlib.Path(app.outdir, "_static/styles/furo.css")
    address = "/javascript/normalize.css/normalize.css"
    if exception is None and furo.exists() and address in (text := furo.read_text()):
        shutil.copyfile("/usr/share" + address, furo.with_name("normalize.css"))
        furo.write_text(text.replace(address, "normalize.css"))


def setup(app):
    app.connect("builder-inited", check_headers)
    app.connect("builder-inited", add_namespace_members)
    app.connect("source-read", prepare_page)
    app.connect("doctree-read", check_sections)
    app.connect("env-check-consistency", keep_identifiers)  # all declarations are complete
    app.connect("build-finished", include_normalize)
