"""Documentation of a dozen generators, from Debian packages: which pages, and which element is the body of a page."""

from __future__ import annotations

import random
import subprocess
from dataclasses import dataclass
from pathlib import Path

from bench.report import WORKPLACE, BenchError, say

SEED = 20261119
SPHINX_MARKS = ("a.headerlink", "div.clearer")
DOWNLOAD_SECONDS = 600


@dataclass(frozen=True)
class DocumentationSet:
    """The pages of one generator."""

    name: str
    package: str
    folder: str
    """Below usr/share of the package."""
    body: str
    """CSS selectors of the element that the generator writes the page's content into; the first that matches counts."""
    marks: tuple[str, ...] = ()
    """CSS selectors of what the generator adds inside the body: permalinks, navigation, its own signature."""
    pages: str = "*.html"
    excluded: tuple[str, ...] = ("genindex*", "search.html", "py-modindex*", "index.html")
    """Names of pages that are lists of links without any text."""
    code_block: str = "pre"
    code_line: str = ""
    """CSS selector of one line of code, where the generator has an element for it."""


SETS = (
    DocumentationSet("sphinx", "python3.11-doc", "doc/python3.11/html", "div.body", SPHINX_MARKS),
    DocumentationSet("sphinx-cmake", "cmake-doc", "doc/cmake-data/html", "div.body", SPHINX_MARKS),
    DocumentationSet("sphinx-django", "python-django-doc", "doc/python-django-doc/html", "div.yui-b", SPHINX_MARKS),
    DocumentationSet(
        "docbook", "postgresql-doc-15", "doc/postgresql-doc-15/html", "body",
        ("div.navheader", "div.navfooter", "div.toc", "a.id_link"),
        excluded=("bookindex.html", "index.html", "biblio.html"),
    ),
    DocumentationSet(
        "javadoc", "openjdk-17-doc", "doc/openjdk-17-jre-headless/api/java.base/java", "main",
        ("button", "script"),
        excluded=("package-tree.html", "package-use.html", "class-use"),
    ),
    DocumentationSet(
        "doxygen", "libeigen3-doc", "doc/libeigen3-dev/html", "div.contents",
        ("span.lineno", "span.permalink", "hr.footer"),
        excluded=(
            "*_source.html", "dir_*", "functions*", "globals*", "annotated.html", "hierarchy.html", "*-members.html",
        ),
        code_block="div.fragment, pre",
        code_line="div.line",
    ),
    DocumentationSet(
        "rustdoc", "rust-doc", "doc/rust-doc/html/std", "#main-content",
        ("a.anchor", "a.doc-anchor", "a.srclink", "span.out-of-band", "#copy-path", "button", "span.notable-traits"),
        excluded=("all.html", "sidebar-items*"),
    ),
    DocumentationSet(
        "mdbook", "rust-doc", "doc/rust-doc/html/book", "main",
        ("div.buttons", "span.boring"),
        excluded=("print.html", "index.html", "toc.html"),
    ),
    DocumentationSet(
        "asciidoc", "git-doc", "doc/git-doc", "#content, div.book", ("div.toc", "#toc", "div.titlepage"),
    ),
    DocumentationSet(
        "mkdocs", "mkdocs-doc", "doc/mkdocs/html", "div.col-md-9", ("a.headerlink",),
        excluded=("search.html", "404.html"),
    ),
    DocumentationSet(
        "gtk-doc", "libglib2.0-doc", "gtk-doc/html", "div.refentry, div.chapter",
        excluded=("index.html", "api-index*", "annotation-glossary.html", "object-tree.html"),
    ),
    DocumentationSet(
        "gi-docgen", "libgtk-4-doc", "doc/libgtk-4-doc/gtk4", "#main",
        ("a.anchor", "button", "a.md-source", "div.srclink", "a.srclink"),
    ),
    DocumentationSet(
        "rdoc", "asciidoctor-doc", "doc/asciidoctor-doc/html", "main",
        ("span.method-click-advice", "span > a[href^='#']"),
        excluded=("table_of_contents.html", "index.html"),
    ),
    DocumentationSet(
        "nodejs", "nodejs-doc", "doc/nodejs/api", "#apicontent",
        ("a.mark", "span.type-link", "button"),
        excluded=("all.html", "index.html", "synopsis.html"),
    ),
)  # fmt: skip


def unpack(package: str) -> Path:
    """Downloads a Debian package once, with apt, and unpacks it without installing it."""
    folder = WORKPLACE / "documentation" / package
    done = folder / "unpacked"
    if done.is_dir():
        return done
    folder.mkdir(parents=True, exist_ok=True)
    say(f"downloading {package}…")
    for command in (["apt-get", "download", package], ["sh", "-c", "dpkg -x *.deb partial && mv partial unpacked"]):
        ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=DOWNLOAD_SECONDS)
        if ended.returncode != 0:
            raise BenchError(f"{command[0]} {package}: {ended.stderr.strip() or 'failed'}; `apt-get update` may help")
    return done


def files_of(one: DocumentationSet) -> list[Path]:
    """All pages, in an order that is random but the same in every run."""
    root = unpack(one.package) / "usr" / "share" / one.folder
    files = sorted(
        file
        for file in root.rglob(one.pages)
        if file.is_file() and not any(part.match(rule) for part in (file, file.parent) for rule in one.excluded)
    )
    if not files:
        raise BenchError(f"{one.package} has no pages in {root}")
    random.Random(SEED).shuffle(files)
    return files
