#!/usr/bin/env python3
"""All documents and the Python API as one site that needs no server: python scripts/docs.py [build/site].

Pages keep their places (docs/python.md is docs/python.html), so that links between them only change their ending. The search index is a
script, because pages from disk may not fetch. Reads the package that Python would import; needs markdown-it-py."""
import html
import inspect
import json
import os
import pathlib
import re
import shutil
import sys

from markdown_it import MarkdownIt

import protogcd
from protogcd import interop, metrics

ROOT = pathlib.Path(__file__).resolve().parent.parent
GROUPS = {  # the order of the menu; pages of docs that are not named here come last
    "Start": ["README.md", "docs/install.md", "docs/demo.md", "docs/python.md", "docs/defaults.md"],
    "Images and weights": ["docs/datasets.md", "docs/images.md", "docs/backbones.md", "docs/builtin-backbone.md", "docs/pretraining.md"],
    "Discovery": ["docs/training.md", "docs/class-number.md", "docs/outliers.md", "docs/report.md", "docs/rounds.md", "docs/findings.md",
                  "docs/tuning.md", "docs/export.md"],
    "Research": ["docs/method.md", "docs/methods.md", "docs/method-template.md", "docs/strong-views.md", "docs/sweeps.md", "docs/analyses.md", "docs/clustering.md", "docs/corruptions.md", "docs/map.md"],
}
REST = [("docs/*.md", "More"), ("docs/notes/*.md", "Notes"), ("protogcd/*/README.md", "Source"), ("configs/README.md", "Source"), ("C*.md", "Project")]
MODULES = {"protogcd": protogcd, "protogcd.metrics": metrics, "protogcd.interop": interop}


class Page:
    def __init__(self, path, text, group, title=None):
        self.path, self.text, self.group = path, text, group
        found = re.search(r"^# (.+)$", text, re.MULTILINE)
        self.title = title or (re.sub(r"[`*]", "", found[1]) if found else path)
        self.short = re.split(r"[:,]", self.title)[0]  # for the menu
        self.out = "index.html" if path == "README.md" else path.removesuffix(".md") + ".html"


def slug(heading):
    """As GitHub makes anchors."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def documents():
    named = {path: group for group, paths in GROUPS.items() for path in paths}
    found = [(path, group) for path, group in named.items() if (ROOT / path).is_file()]
    for pattern, group in REST:
        found += [(path, group) for path in sorted(str(file.relative_to(ROOT)) for file in ROOT.glob(pattern)) if path not in named]
    for path, group in found:
        title = {"README.md": "Overview"}.get(path) or (path.split("/")[-2] if group == "Source" else None)
        yield Page(path, (ROOT / path).read_text(encoding="utf-8"), group, title)


def signature(name, thing):
    """A call as it is written, a line for each argument where one line is too long."""
    try:
        written = inspect.signature(thing)
    except (TypeError, ValueError):
        return name
    # Types say what the text does not; long unions are the text's.
    parameters = [one.replace(annotation=inspect.Parameter.empty) for key, one in written.parameters.items() if key not in ("self", "cls")]
    line = name + str(inspect.Signature(parameters))
    return line if len(line) < 110 else re.sub(r", (?=[\w*])", ",\n    ", line.replace("(", "(\n    ", 1))


def described(thing):
    """A docstring as Markdown: examples become code."""
    text = inspect.cleandoc(thing.__doc__ or "")
    return re.sub(r"(?ms)^>>> .*?(?=\n\n|\Z)", lambda found: f"```python\n{found[0]}\n```", text)


def fields(cls):
    notes = dict(re.findall(r"^    (\w+): .*?#: (.*)$", inspect.getsource(cls), re.MULTILINE))
    return "".join(f"- `{name}`{': ' + notes[name] if name in notes else ''}\n" for name in cls._fields)


def members(cls):
    for name, member in vars(cls).items():
        if name.startswith("_"):
            continue
        if isinstance(member, property):
            yield f"**{name}**  \n{described(member)}\n"
        elif inspect.isfunction(member) or isinstance(member, classmethod):
            yield f"```python\n{signature(cls.__name__ + '.' + name, getattr(cls, name))}\n```\n{described(member)}\n"


def api_of(name, module):
    own = [(key, getattr(module, key)) for key in getattr(module, "__all__", None) or vars(module) if not key.startswith("_")]
    own = [(key, thing) for key, thing in own if inspect.isclass(thing) or inspect.isfunction(thing)]
    if not hasattr(module, "__all__"):
        own = [(key, thing) for key, thing in own if thing.__module__ == module.__name__]
    kinds = {"Functions": [], "Classes": [], "Errors": []}
    for key, thing in sorted(own, key=lambda pair: pair[0].lower()):
        kind = "Functions" if inspect.isfunction(thing) else "Errors" if issubclass(thing, BaseException) else "Classes"
        text = f"### {key}\n\n"
        if kind != "Errors" and not hasattr(thing, "_fields"):
            text += f"```python\n{signature(key, thing)}\n```\n\n"
        if kind == "Errors":
            text += f"*{', '.join(one.__name__ for one in thing.__bases__)}*: "
        text += described(thing) + "\n\n"
        if kind == "Classes":
            text += (fields(thing) + "\n" if hasattr(thing, "_fields") else "") + "\n".join(members(thing))
        kinds[kind].append(text)
    parts = [f"## {kind}\n\n" + "\n".join(texts) for kind, texts in kinds.items() if texts]
    return f"# {name}\n\n{described(module)}\n\n" + "\n".join(parts)


def api():
    modules = dict(MODULES)
    try:
        import protogcd.sklearn
        modules["protogcd.sklearn"] = protogcd.sklearn
    except ImportError:
        print("docs: scikit-learn is not installed, so protogcd.sklearn is left out", file=sys.stderr)
    for name, module in modules.items():
        yield Page(f"api/{name}.md", api_of(name, module), "Python API", name)
    yield Page("api/options.md", "\n".join(options()), "Python API", "Verbs and options")


def options():
    yield ("# Verbs and options\n\nEvery verb of the program, and its options by key: `k_max` is `k_max=` in Python, `--k-max` on the command line "
           "and `k_max` in a TOML file. Verbs without a function in Python are called by `protogcd.call(\"datasets info\", ...)`.\n")

    def cell(text):
        return text.replace("|", "\\|").replace("<", "&lt;")

    for verb, summary in protogcd.verbs().items():
        rows = []
        for one in protogcd.options(verb):
            default = f"`{cell(one['default'])}`" if one["default"] not in ("", '""') else ""
            rows.append(f"| `{one['key']}` | {default} | {cell(one['expected'])} | {cell(one['help'])} |")
        yield f"## {verb}\n\n{summary}\n\n| key | default | expected | |\n|---|---|---|---|\n" + "\n".join(rows) + "\n"


def rendered(page, pages, site):
    """HTML of the body, its headings, and sections as (heading, anchor, text) for the search."""
    markdown = MarkdownIt("commonmark").enable("table")
    tokens = markdown.parse(re.sub(r"<!--.*?-->\n?", "", page.text, flags=re.DOTALL))
    headings, sections, seen = [], [[page.title, "", []]], {}
    for place, token in enumerate(tokens):
        if token.type == "heading_open":
            inline = tokens[place + 1]
            words = "".join(child.content for child in inline.children)
            anchor = slug(words)
            seen[anchor] = seen.get(anchor, -1) + 1
            anchor += f"-{seen[anchor]}" if seen[anchor] else ""
            token.attrSet("id", anchor)
            if token.tag != "h1":
                headings.append((int(token.tag[1]), words, anchor))
                sections.append([words, anchor, []])
        elif token.type == "inline":
            if tokens[place - 1].type != "heading_open":
                sections[-1][2].append("".join(child.content if child.content else " " for child in token.children))
            for child in token.children:
                for attribute in ("href", "src"):
                    if child.attrGet(attribute):
                        child.attrSet(attribute, target(child.attrGet(attribute), page, pages, site))
        elif token.type in ("fence", "code_block"):
            sections[-1][2].append(token.content)
    texts = [(heading, anchor, " ".join(" ".join(text).split())) for heading, anchor, text in sections]
    return markdown.renderer.render(tokens, markdown.options, {}), headings, texts


def target(link, page, pages, site):
    """A link of a page in the site: to the page that a document became, or to the file in the sources."""
    if re.match(r"[a-z]+:", link) or link.startswith("#"):
        return link
    path, _, anchor = link.partition("#")
    path = os.path.normpath(os.path.join(os.path.dirname(page.path), path))
    here = os.path.dirname(page.out)
    for name in (path, path + "/README.md"):
        if name in pages:
            return os.path.relpath(pages[name].out, here or ".") + ("#" + anchor if anchor else "")
    if re.search(r"\.(png|jpg|svg)$", path):
        return os.path.relpath(path, here or ".")
    return os.path.relpath(ROOT / path, site / here)


def menu(page, pages):
    groups = {}
    for one in pages.values():
        groups.setdefault(one.group, []).append(one)
    order = [*GROUPS, "Python API", "More", "Notes", "Source", "Project"]
    here = os.path.dirname(page.out) or "."
    parts = []
    for group in (name for name in order if name in groups):
        links = ""
        for one in groups[group]:
            current = " aria-current=page" if one is page else ""
            links += f'<li><a href="{html.escape(os.path.relpath(one.out, here))}"{current} title="{html.escape(one.title)}">{html.escape(one.short)}</a></li>'
        is_open = group not in ("More", "Notes", "Source", "Project") or page.group == group
        parts.append(f"<details{' open' if is_open else ''}><summary>{group}</summary><ul>{links}</ul></details>")
    return "".join(parts)


def contents(headings):
    links = "".join(f'<li class="h{level}"><a href="#{html.escape(anchor)}">{html.escape(words)}</a></li>' for level, words, anchor in headings if level < 4)
    return f'<nav class="contents"><p>On this page</p><ul>{links}</ul></nav>' if len(headings) > 2 else ""


SHELL = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} · protogcd</title><link rel="stylesheet" href="{root}site.css"></head>
<body data-root="{root}"><header><a class="name" href="{root}index.html">protogcd</a>
<div class="search"><input id="query" type="search" placeholder="Search ( / )" aria-label="Search the documents" autocomplete="off">
<ol id="hits" hidden></ol></div></header>
<div class="page"><nav class="menu">{menu}</nav><main>{body}</main>{contents}</div>
<script src="{root}search-index.js"></script><script src="{root}site.js"></script></body></html>
"""


def write(site):
    pages = {page.path: page for page in [*documents(), *api()]}
    index = []
    site.mkdir(parents=True, exist_ok=True)
    for page in pages.values():
        body, headings, sections = rendered(page, pages, site)
        root = "../" * page.out.count("/")
        file = site / page.out
        file.parent.mkdir(parents=True, exist_ok=True)
        text = SHELL.format(title=html.escape(page.title), root=root, menu=menu(page, pages), body=body, contents=contents(headings))
        file.write_text(text, encoding="utf-8")
        for heading, anchor, text in sections:
            if text or anchor:
                index.append({"page": page.title, "heading": heading, "url": page.out + ("#" + anchor if anchor else ""), "text": text})
    (site / "search-index.js").write_text("const SECTIONS = " + json.dumps(index, ensure_ascii=False).replace("</", "<\\/") + ";\n", encoding="utf-8")
    for name in ("site.css", "site.js"):
        shutil.copy(ROOT / "scripts" / name, site / name)
    for picture in [*ROOT.glob("docs/*.png"), *ROOT.glob("docs/figures/*")]:
        copy = site / picture.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(picture, copy)
    return len(pages), len(index)


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build" / "site").resolve()
    count, parts = write(folder)
    print(f"{folder / 'index.html'}: {count} pages, {parts} sections to search")
