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
    sites, pairs = tables.pop("fault sites", {}), tables.pop("pairs of verbs", {})
    findings = [json.loads(line) for line in open(book.found)] if book.found.exists() else []
    total = lambda part: sum(tables[part].values())
    sections = [
        f"<h1>What was tried</h1><p>{sittings} sittings, {hours:.1f} hours of one core. {total('kills'):,} kills, at {len(changes):,} of the "
        f"{sum(all_changes.values()):,} changes of the disk that these commands make, and at any other moment; {total('faults'):,} injected faults at {reached(sites)} places; "
        f"{total('disturbances'):,} other disturbances; {reached(pairs)} pairs of verbs at one run; {total('foreign files'):,} changed files of runs; {total('inputs'):,} made-up inputs for {len(tables['inputs'])} parsers. "
        f"<b>{len(findings)} findings</b>, those that were mended since included.</p>"]
    never = [f"{call} · {faults.kind_of(what, always)}" for call, what, always in faults.all_kinds()
             if not book.counts[f"faults | {call} | {faults.kind_of(what, always)}"]]
    sections.append(f"<p>Faults that never fired: {', '.join(never) or 'none'}. Places that none reached: {untried(sites)}. "
                    f"Pairs that were not tried: {untried(pairs)}.</p>")
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


def reached(things):
    return f"{sum(1 for number in things.values() if number):,} of {len(things):,}"


def untried(things):
    names = [name for name, number in things.items() if not number]
    return html.escape(", ".join(names[:20]) + (f" and {len(names) - 20:,} more" if len(names) > 20 else "")) or "none"


def table(title, rows):
    cells = "".join(f"<tr><td>{html.escape(name)}</td><td>{number:,}</td></tr>" for name, number in sorted(rows.items()))
    return f"<h2>{html.escape(title)}</h2><table>{cells}</table>"


def chart(run):
    """Memory, rate, threads and open files of each minute, each against its own largest value."""
    rows, width, height = run["rows"], 640, 120
    lines = []
    for name, colour in (("memory", "#b3412e"), ("rate", "#2e6fb3"), ("threads", "#7a7a72"), ("files", "#4f8a4c")):
        top = max(row[name] for row in rows) or 1
        points = " ".join(f"{i * width / (len(rows) - 1):.1f},{height - row[name] / top * (height - 10):.1f}" for i, row in enumerate(rows))
        lines.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
    last = rows[-1]
    return (f"<h3>{html.escape(run['what'])}</h3><svg viewBox='0 0 {width} {height}' width='{width}'>{''.join(lines)}</svg>"
            f"<p>Red: memory, {rows[0]['memory']:.0f} to {last['memory']:.0f} MiB. Blue: rate, {rows[0]['rate']:.0f} to {last['rate']:.0f} a second. "
            f"Grey: threads, {rows[0]['threads']:.0f} to {last['threads']:.0f}. Green: open files, {rows[0]['files']:.0f} to {last['files']:.0f}. "
            f"{last['minute']:.1f} minutes.</p>")


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
