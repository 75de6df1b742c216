#!/usr/bin/env python3
"""Lines of each parser that the kept fuzz inputs reach (and those of build/fuzz/corpus, where a fuzzer left some). Ends with exit
code 1 where it is not more than 90% of each. Called by `make fuzz-coverage`, whose build counts lines by gcov.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = ROOT / "build/coverage"
MORE_THAN = 90  # percent

# Source files, and where a file does other things too, the functions in it that read (or those that do not).
PARSERS = [
    ("core/block_journal.cpp", {}),
    ("core/csv.cpp", {"without": ["CsvWriter::"]}),
    ("core/json.cpp", {"without": ["is_utf8"]}),
    ("core/json_lines.cpp", {"only": ["keep_json_lines_before"]}),
    ("core/npy.cpp", {"without": ["NpyWriter::", "write_npy", "npy_header", "npy_preamble"]}),
    ("core/options.cpp", {"only": ["OptionTable::apply_toml(", "OptionTable::to_toml", "Option::set", "Option::reject", "Option::to_toml", "toml_scalars"]}),
    ("core/partial_rows.cpp", {"only": ["PartialRows::continue_from_journal", "PartialRows::open_files"]}),
    ("core/pickle.cpp", {}),
    ("core/pth_file.cpp", {}),
    ("core/safetensors.cpp", {"without": ["write_safetensors"]}),
    ("core/state_notes.cpp", {}),
    ("core/tar_archive.cpp", {}),
    ("core/toml_checked.cpp", {}),
    ("core/weight_file.cpp", {}),
    ("core/zip_archive.cpp", {}),
    ("data/boxed_path.cpp", {}),
    ("data/cifar.cpp", {"only": ["parse_cifar", "read_numpy_pixels", "planes_of", "check_label"]}),
    ("data/image_files.cpp", {"only": ["list_images_of(std::istream"]}),
    ("data/matlab.cpp", {}),
    ("data/packed_images.cpp", {"without": ["PackedImages::open"]}),
    ("data/shard.cpp", {"only": ["Shard::parse", "ShardNote::parse"]}),
    ("data/user_data.cpp", {"only": ["parse_manifest", "manifest_columns", "box_of", "sample_of", "refuse_repeated_paths", "PathIndex", "apply_truth"]}),
    ("image/bmp_decoder.cpp", {}),
    ("image/exif.cpp", {"without": ["turn_upright"]}),
    ("image/gif_decoder.cpp", {}),
    ("image/heif_decoder.cpp", {}),
    ("image/image_size.cpp", {}),
    ("image/jpeg_decoder.cpp", {}),
    ("image/png_decoder.cpp", {}),
    ("image/tiff_decoder.cpp", {}),
    ("image/tiff_directory.cpp", {}),
    ("image/webp_decoder.cpp", {}),
    ("report/report_data.cpp", {"only": ["epochs_of", "loss_terms", "skipped_of", "device_of"]}),
    ("report/run_contents.cpp", {}),
    ("run/class_number.cpp", {"only": ["ClassNumber::from_json", "score_of", "from_word"]}),
    ("run/confidence.cpp", {}),
    ("run/corrections.cpp", {}),
    ("run/epoch_comparison.cpp", {}),
    ("run/evaluation.cpp", {}),
    ("run/findings_file.cpp", {}),
    ("run/label_history.cpp", {}),
    ("run/label_next.cpp", {}),
    ("run/metrics_file.cpp", {"only": ["read_metrics", "keep_metrics_before"]}),
    ("run/predictions_table.cpp", {"without": ["PredictionsTableWriter::"]}),
    ("run/run_notes.cpp", {}),
    ("run/run_result.cpp", {}),
    ("run/taken_from.cpp", {}),
    ("run/tuning.cpp", {}),
    ("sweep/cell_record.cpp", {"without": ["forget_from", "CellRecord::begin"]}),
    ("sweep/sweep_file.cpp", {"without": ["apply_override"]}),
]


def targets():
    return sorted(folder.name for folder in (ROOT / "fuzz/corpus").iterdir() if (BUILD / "bin" / f"fuzz_{folder.name}").exists())


def replay(target, counters, with_learned):
    learned = ROOT / "build/fuzz/corpus" / target
    ended = subprocess.run(
        [BUILD / "bin" / f"fuzz_{target}", ROOT / "fuzz/corpus" / target, *([learned] if with_learned and learned.is_dir() else [])],
        env={**os.environ, "GCOV_PREFIX": str(counters / target)}, capture_output=True, text=True, errors="replace")
    if ended.returncode != 0:
        sys.exit(f"fuzz_{target} ended with {ended.returncode}: {ended.stderr[-400:]}")
    return int(ended.stdout.split()[0])


def gcov(job):
    """What gcov says of one compiled source: it looks for the compiler's notes beside the counters."""
    counters_file, notes = job
    counters_file.with_suffix(".gcno").symlink_to(notes)
    said = subprocess.run(["gcov", "--json-format", "--stdout", counters_file], capture_output=True, text=True, check=True, cwd=counters_file.parent).stdout
    wanted = {name for name, _ in PARSERS}
    files = ((file["file"].rpartition("protogcd/")[2], file) for file in json.loads(said)["files"])
    return [(name, file["lines"], file["functions"]) for name, file in files if name in wanted]


def lines_of(counts, functions, which):
    """The lines that count, by number."""
    def named(names):
        return {line for demangled, first, last in functions if any(part in demangled for part in names) for line in range(first, last + 1)}
    if "only" in which:
        return counts.keys() & named(which["only"])
    return counts.keys() - named(which.get("without", []))


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("-j", "--jobs", type=int, default=os.cpu_count())
    options.add_argument("--kept", action="store_true", help="those in fuzz/corpus alone")
    options.add_argument("--missed", action="store_true", help="also the lines that no input reaches")
    options = options.parse_args()
    names = sorted(path.stem for path in (ROOT / "fuzz").glob("fuzz_*.cpp"))
    known = subprocess.run(["ninja", "-C", BUILD, "-t", "targets", "all"], capture_output=True, text=True, check=True).stdout
    names = [name for name in names if f"\n{name}: phony" in known]
    subprocess.run(["cmake", "--build", BUILD, "-j", str(options.jobs), "--target", *names], check=True, stdout=subprocess.DEVNULL)

    counts, functions = {}, {}
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        counters = pathlib.Path(folder)
        inputs = sum(pool.map(lambda target: replay(target, counters, not options.kept), targets()))
        jobs = []
        for target in targets():
            beside = counters / target / BUILD.relative_to("/")
            for file in beside.rglob("*.gcda"):
                jobs.append((file, (BUILD / file.relative_to(beside)).with_suffix(".gcno")))
        for files in pool.map(gcov, jobs):
            for name, lines, found in files:
                of_file = counts.setdefault(name, {})
                for line in lines:
                    of_file[line["line_number"]] = of_file.get(line["line_number"], 0) + line["count"]
                functions.setdefault(name, set()).update((one["demangled_name"], one["start_line"], one["end_line"]) for one in found)

    print(f"{inputs} inputs of {len(targets())} targets\n")
    print("| parser | lines | reached | |")
    print("|---|---:|---:|---|")
    too_few = []
    for name, which in PARSERS:
        if name not in counts:
            sys.exit(f"{name} is not built: a library or its target is missing")
        lines = lines_of(counts[name], functions[name], which)
        missed = sorted(line for line in lines if counts[name][line] == 0)
        percent = 100 * (len(lines) - len(missed)) / len(lines)
        if percent <= MORE_THAN:
            too_few.append(name)
        of = "".join(f"{word} {', '.join(part.split('(')[0].rstrip(':') for part in parts)}" for word, parts in which.items())
        print(f"| {name} | {len(lines)} | {percent:.1f}% | {of} |")
        if options.missed and missed:
            print(f"    {name}: " + " ".join(map(str, missed)))
    if too_few:
        sys.exit(f"\nnot more than {MORE_THAN}%: {', '.join(too_few)}")


main()
