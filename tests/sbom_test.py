#!/usr/bin/env python3
"""`make sbom` lists what a program is made of, once each, and docs/dependencies.md says why each is there: sbom_test.py BUILD TORCH."""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
OF_THE_COMPILER = {"libc6", "libgcc-s1", "libgomp1", "libstdc++6"}
SKIPPED = 77


def stem(name):
    """libfmt9, libspdlog1.10 and libjpeg62-turbo as the document names them: fmt, spdlog, jpeg."""
    return re.match(r"(?:lib)?(\D+?)-?(?:dev)?(?:[0-9]|-turbo|$)", name)[1] if not name.startswith("@") else name


def main(build, torch):
    if not shutil.which("dpkg-query"):
        print("no dpkg-query: what packages hold the libraries is not known here")
        return SKIPPED
    with tempfile.TemporaryDirectory() as out:
        subprocess.run([ROOT / "scripts/sbom.py", "--build", build, "--torch", torch, "--out", out], check=True, stdout=subprocess.DEVNULL)
        document = json.loads(next(pathlib.Path(out).glob("protogcd-*.cdx.json")).read_text())
    parts, said = document["components"], (ROOT / "docs/dependencies.md").read_text()
    refs = [part["bom-ref"] for part in parts]
    faults = [f"{ref} stands twice" for ref in set(refs) if refs.count(ref) > 1]
    faults += [f"{part['name']} has no version or package URL" for part in parts if not part["version"] or not part["purl"].startswith("pkg:")]
    faults += [f"protogcd does not depend on {ref}" for ref in refs if ref not in document["dependencies"][0]["dependsOn"]]
    faults += [f"docs/dependencies.md does not speak of {part['name']}" for part in parts
               if part["name"] not in OF_THE_COMPILER and stem(part["name"]) not in said]
    faults += [f"{name} is not listed" for name in ("libtorch", "uplot", "nlohmann-json3-dev") if name not in {part["name"] for part in parts}]
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
