"""The campaign's page: what was tried, how often, and what was found."""
import collections
import html
import json

import faults


def write(folder, book):
    tables = collections.defaultdict(dict)
    for name, number in book.counts.items():
        part, *rest = name.split(" | ")
        tables[part][" · ".join(rest) or part] = number
    hours = tables.pop("seconds of workers", {}).get("seconds of workers", 0) / 3600
    sittings = tables.pop("sittings", {}).get("sittings", 0)
    changes, all_changes = tables.pop("kills at a change", {}), tables.pop("changes", {})
    sites = tables.pop("fault sites", {})
    findings = [json.loads(line) for line in open(book.found)] if book.found.exists() else []
    total = lambda part: sum(tables[part].values())
    sections = [
        f"<h1>What was tried</h1><p>{sittings} sittings, {hours:.1f} hours of one core. {total('kills'):,} kills, at {len(changes):,} of the "
        f"{sum(all_changes.values()):,} changes of the disk that these commands make, and at any other moment; {total('faults'):,} injected faults at {len(sites):,} different places; "
        f"{total('disturbances'):,} other disturbances; {total('foreign files'):,} changed files of runs; {total('inputs'):,} made-up inputs for {len(tables['inputs'])} parsers. "
        f"<b>{len(findings)} findings</b>, those that were mended since included.</p>"]
    never = [f"{call} · {faults.name_of(what)}" for call, whats in faults.FAULTS.items() for what in whats
             if not book.counts[f"faults | {call} | {faults.name_of(what)}"]]
    sections.append(f"<p>Faults that never fired: {', '.join(never) or 'none'}.</p>")
    sections += [table(part.capitalize(), rows) for part, rows in sorted(tables.items()) if part != "findings" and rows]
    endurance = folder / "endurance.json"
    if endurance.exists():
        sections.append("<h2>Endurance</h2>" + "".join(chart(run) for run in json.loads(endurance.read_text()) if len(run["rows"]) > 1))
    sections.append("<h2>Findings</h2>" + ("".join(
        f"<details><summary>{html.escape(f['part'])}: {html.escape(f['what'][:300])}</summary><pre>{html.escape(json.dumps(f, indent=1))}</pre></details>"
        for f in findings) or "<p>None.</p>"))
    page = folder / "summary.html"
    page.write_text(PAGE.replace("{content}", "\n".join(sections)))
    return page


def table(title, rows):
    cells = "".join(f"<tr><td>{html.escape(name)}</td><td>{number:,}</td></tr>" for name, number in sorted(rows.items()))
    return f"<h2>{html.escape(title)}</h2><table>{cells}</table>"


def chart(run):
    """Memory and rate of each minute, each against its own largest value."""
    rows, width, height = run["rows"], 640, 120
    lines = []
    for name, colour in (("memory", "#b3412e"), ("rate", "#2e6fb3")):
        top = max(row[name] for row in rows) or 1
        points = " ".join(f"{i * width / (len(rows) - 1):.1f},{height - row[name] / top * (height - 10):.1f}" for i, row in enumerate(rows))
        lines.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
    last = rows[-1]
    return (f"<h3>{html.escape(run['what'])}</h3><svg viewBox='0 0 {width} {height}' width='{width}'>{''.join(lines)}</svg>"
            f"<p>Red: memory, {rows[0]['memory']:.0f} to {last['memory']:.0f} MiB. Blue: rate, {rows[0]['rate']:.0f} to {last['rate']:.0f} a second. "
            f"Threads {last['threads']:.0f}, files {last['files']:.0f}. {last['minute']:.1f} minutes.</p>")


PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>protogcd: the campaign</title>
<style>
 body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222 }
 table { border-collapse: collapse } td { border-bottom: 1px solid #ddd; padding: .15rem .8rem .15rem 0 } td + td { text-align: right }
 pre { overflow: auto; background: #f6f6f4; padding: .6rem } summary { cursor: pointer; padding: .2rem 0 }
</style>
{content}
</html>
"""
