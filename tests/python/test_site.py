"""The site of `make docs`: links lead somewhere, and a search in a browser, from disk, finds what is there."""
import html.parser
import os
import pathlib
import shutil
import subprocess
import sys
import urllib.parse

import pytest

pytest.importorskip("markdown_it", reason="markdown-it-py is not installed")
ROOT = pathlib.Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    subprocess.run([sys.executable, str(ROOT / "scripts" / "docs.py"), str(folder)], check=True)
    return folder


class Links(html.parser.HTMLParser):
    def __init__(self, file):
        super().__init__()
        self.links, self.anchors, self.text = [], set(), []
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.links += [attributes[name] for name in ("href", "src") if attributes.get(name)]
        self.anchors |= {attributes["id"]} if "id" in attributes else set()

    def handle_data(self, data):
        self.text.append(data)


def test_every_link_leads_somewhere_and_nothing_is_fetched(site):
    pages = {file.resolve(): Links(file) for file in site.rglob("*.html")}
    assert len(pages) > 40
    lost = []
    for file, page in pages.items():
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme:
                continue
            target = (file.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else file
            if not target.exists() or parts.fragment and target in pages and urllib.parse.unquote(parts.fragment) not in pages[target].anchors:
                lost.append(f"{file.relative_to(site.resolve())}: {link}")
        sources = [link for link in page.links if link.startswith("http") and link.endswith((".js", ".css", ".png"))]
        assert not sources, file
    assert not lost, "\n".join(lost)


def test_public_functions_and_options_are_there(site):
    import protogcd
    page = Links(site / "api" / "protogcd.html")
    missing = {name.lower() for name in protogcd.__all__} - {"metrics"} - page.anchors
    assert not missing
    assert "k_max" in Links(site / "api" / "options.html").text


def seen_by_chromium(page, tmp_path):
    """The document after its scripts have run."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("chromium is not installed")
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}", "--window-size=1400,1000",
               "--virtual-time-budget=3000", "--enable-logging=stderr", "--dump-dom", page]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=os.environ | {"HOME": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    errors = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert not errors, errors
    return done.stdout


@pytest.mark.parametrize("query, page, heading, link", [
    ("gcd_accuracy", "index.html", "gcd_accuracy", "api/protogcd.metrics.html#gcd_accuracy"),
    ("stopped runs", "docs/python.html", "Stopped runs", "../docs/training.html#stopped-runs"),
    ("k_max estimate", "api/protogcd.html", "estimate-k", "../api/options.html#estimate-k")])
def test_search_finds_from_disk(site, tmp_path, query, page, heading, link):
    document = seen_by_chromium(f"file://{site / page}?q={urllib.parse.quote(query)}", tmp_path)
    hits = document[document.index('<ol id="hits"'):document.index("</ol>", document.index('<ol id="hits"'))]
    assert f'href="{link}"' in hits and f"<b>{heading}</b>" in hits
    assert "<mark>" in hits


def test_the_best_hit_is_the_function_itself(site, tmp_path):
    document = seen_by_chromium(f"file://{site}/index.html?q=semi_supervised_kmeans", tmp_path)
    assert document[document.index('<ol id="hits"'):].split("href=")[1].startswith('"api/protogcd.html#semi_supervised_kmeans"')


def test_a_query_is_text(site, tmp_path):
    document = seen_by_chromium(f"file://{site}/index.html?q={urllib.parse.quote('<img src=x onerror=alert(1)> zzz')}", tmp_path)
    assert "Nothing has all of these words." in document and "<img src=\"x\"" not in document
