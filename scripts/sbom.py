#!/usr/bin/env python3
"""What a build is made of, as a CycloneDX 1.5 file: build/packages/protogcd-VERSION.cdx.json. Called by `make sbom`.

Libraries that the program is linked with, by the distribution's package that holds each; headers that are compiled in; libtorch; and
the npm packages whose code is in the report page.
"""
import argparse
import hashlib
import json
import pathlib
import re
import subprocess
import sys
from urllib.parse import quote

ROOT = pathlib.Path(__file__).resolve().parents[1]
# Headers alone: nothing in the binary names them.
HEADERS = {"libcli11-dev", "libtomlplusplus-dev", "nlohmann-json3-dev"}


def said(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def needed_libraries(program):
    return re.findall(r"\(NEEDED\).*\[(.*)\]", said("readelf", "-Wd", program))


def file_of(library):
    found = re.search(rf"^\s*{re.escape(library)} .* => (\S+)$", said("/sbin/ldconfig", "-p"), re.M)
    return pathlib.Path(found[1]).resolve() if found else None


def package_of(file):
    """Debian moved /lib into /usr/lib; packages name either."""
    for path in (file, str(file).removeprefix("/usr"), f"/usr{file}"):
        found = subprocess.run(["dpkg-query", "-S", path], capture_output=True, text=True).stdout
        if found:
            return found.split(":")[0].split(",")[0]
    return None


def of_the_distribution(package, **more):
    version = said("dpkg-query", "-W", "-f", "${Version}", package)
    distribution = re.search(r"^ID=\"?(\w+)", pathlib.Path("/etc/os-release").read_text(), re.M)[1]
    return {"type": "library", "bom-ref": package, "name": package, "version": version,
            "purl": f"pkg:deb/{distribution}/{package}@{quote(version, safe=':~')}", **more}


def libtorch(folder):
    version = (folder / "build-version").read_text().strip() if (folder / "build-version").exists() else \
        re.search(r"__version__\s*=\s*'([^']+)'", (folder / "version.py").read_text())[1]
    return {"type": "library", "bom-ref": "libtorch", "name": "libtorch", "version": version,
            "purl": f"pkg:pypi/torch@{version.split('+')[0]}", "licenses": [{"license": {"id": "BSD-3-Clause"}}]}


def of_the_page():
    """As web/build.mjs takes them: all but the tools of development."""
    for place, facts in json.loads((ROOT / "web/package-lock.json").read_text())["packages"].items():
        if place.startswith("node_modules/") and not facts.get("dev"):
            name = place.rpartition("node_modules/")[2]
            yield {"type": "library", "bom-ref": f"npm:{name}@{facts['version']}", "name": name, "version": facts["version"],
                   "purl": f"pkg:npm/{quote(name)}@{facts['version']}",
                   "licenses": [{"expression": facts["license"]}] if "license" in facts else []}


def components(program, torch):
    packages = set(HEADERS)
    for library in needed_libraries(program):
        if library.startswith(("libtorch", "libc10")):
            continue
        file = file_of(library)
        package = package_of(file) if file else None
        if not package:
            raise SystemExit(f"sbom: no package of the distribution holds {library}, which {program} needs")
        packages.add(package)
    yield libtorch(torch)
    for package in sorted(packages):
        yield of_the_distribution(package)
    yield from of_the_page()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release", help="the build folder of the program")
    parser.add_argument("--torch", type=pathlib.Path, required=True, help="the folder of the torch package or of an unpacked libtorch")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build/packages", help="the folder of the file")
    options = parser.parse_args()
    program = options.build / "libexec/protogcd/protogcd-program"
    version = said(options.build / "bin/protogcd", "--version").split()[-1]
    parts = list(components(program, options.torch))
    document = {
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "metadata": {"component": {
            "type": "application", "bom-ref": "protogcd", "name": "protogcd", "version": version,
            "licenses": [{"license": {"id": "Apache-2.0"}}],
            "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(program.read_bytes()).hexdigest()}]}},
        "components": parts,
        "dependencies": [{"ref": "protogcd", "dependsOn": [part["bom-ref"] for part in parts]}],
    }
    options.out.mkdir(parents=True, exist_ok=True)
    file = options.out / f"protogcd-{version}.cdx.json"
    file.write_text(json.dumps(document, indent=1) + "\n")
    print(f"{file}: {len(parts)} components")


if __name__ == "__main__":
    sys.exit(main())
