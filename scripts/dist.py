"""Build and check a release: ``make dist`` runs this with the tools of ``scripts/dist-requirements.txt``.

Writes wheel, source archive, ``*.cdx.json`` (the SBOM: what an install of the wheel with training brings, CycloneDX)
and, where the database of known vulnerabilities can be reached, ``*.audit.json`` into ``dist/``; for a tag also
``NOTES.md``, its section of the changelog. Stops at the first check that fails.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Iterable
from email import message_from_bytes
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
#: An environment with the wheel and its dependencies only: not even pip, so that the SBOM has nothing else.
CLEAN = ROOT / "build" / "clean"
#: The extra that the README's examples need: they train.
EXTRA = "train"


class CheckFailedError(Exception):
    """A release must not be made of this."""


def run(*command: str | Path) -> None:
    """Run a command from the project's folder; its failure ends the program."""
    print("+", *command, flush=True)
    if subprocess.run([str(part) for part in command], cwd=ROOT, check=False).returncode != 0:
        raise CheckFailedError(f"{Path(command[0]).name} failed, see above")


def notes(changelog: str, tag: str, version: str) -> str:
    """Return the changelog's section of a tagged version, which must be this one and have a date."""
    if tag != f"v{version}":
        raise CheckFailedError(f"the tag {tag} is not of this version, v{version}")
    heading = rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$"
    section = re.search(rf"{heading}\n(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
    if section is None:
        raise CheckFailedError(f"CHANGELOG.md has no heading '## [{version}] - YYYY-MM-DD'")
    return section[1].strip() + "\n"


def version_of_source() -> str:
    """Return the version that the build writes into the metadata."""
    source = (ROOT / "src" / "tsenet" / "__init__.py").read_text("utf-8")
    (version,) = re.findall(r'^__version__ = "([^"]+)"$', source, re.MULTILINE)
    return str(version)


def tool(module: str, *arguments: str | Path) -> None:
    """Run a module of the tools' environment."""
    run(sys.executable, "-m", module, *arguments)


def build() -> tuple[Path, Path]:
    """Make ``dist/`` anew: the source archive, and the wheel from it."""
    shutil.rmtree(DIST, ignore_errors=True)
    tool("build", "--no-isolation", "--outdir", DIST)
    (wheel,), (archive,) = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
    return wheel, archive


def unwanted(names: Iterable[str]) -> list[str]:
    """Files that are made by programs and belong in no release."""
    marks = ("__pycache__", "node_modules", ".nbi", ".nbc", ".pyc", ".venv", ".pytest_cache")
    return [name for name in names if any(mark in name for mark in marks)]


def check_contents(wheel: Path, archive: Path) -> None:
    """The wheel has the licence, the type marker and the report's program; neither file has rubbish."""
    in_wheel = zipfile.ZipFile(wheel).namelist()
    with tarfile.open(archive) as opened:
        in_archive = opened.getnames()
    if rubbish := unwanted([*in_wheel, *in_archive]):
        raise CheckFailedError(f"built files are packed: {', '.join(rubbish[:5])}")
    for end in ("/LICENSE", "tsenet/py.typed", "tsenet/explain/report/assets/explorer.js"):
        if not any(name.endswith(end) for name in in_wheel):
            raise CheckFailedError(f"the wheel lacks {end}")
    if foreign := [name for name in in_wheel if not name.startswith(("tsenet/", "tsenet-"))]:
        raise CheckFailedError(f"the wheel has files outside the package: {', '.join(foreign[:5])}")
    print(f"{wheel.name}: {len(in_wheel)} files; {archive.name}: {len(in_archive)}")


def relative_links(text: str) -> list[str]:
    """Links and pictures of a Markdown text that an index cannot resolve, by their targets."""
    outside_code = re.sub(r"^```.*?^```$|`[^`\n]*`", "", text, flags=re.MULTILINE | re.DOTALL)
    targets = re.findall(r"\]\(([^)\s]+)[^)]*\)", outside_code)
    return [target for target in targets if not target.startswith(("https://", "http://", "#"))]


def check_description(wheel: Path) -> None:
    """The metadata's description, which an index shows, has no relative link."""
    opened = zipfile.ZipFile(wheel)
    (name,) = [name for name in opened.namelist() if name.endswith(".dist-info/METADATA")]
    description = message_from_bytes(opened.read(name)).get_payload()
    if not isinstance(description, str) or len(description) < 1000:
        raise CheckFailedError("the metadata have no description")
    if relative := relative_links(description):
        raise CheckFailedError(f"the description has relative links: {', '.join(relative[:5])}")


def install(wheel: Path) -> Path:
    """Install the wheel into an empty environment and return its interpreter."""
    venv.create(CLEAN, clear=True, with_pip=False)
    python = CLEAN / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    pip = ("--disable-pip-version-check", "--python", python, "install", "--quiet")
    version = wheel.name.split("-")[1]
    # From a folder, not by its path: pip would note the path, and the SBOM repeat it.
    tool("pip", *pip, "--no-deps", "--no-index", "--find-links", DIST, f"tsenet=={version}")
    pinned = ("--constraint", ROOT / "constraints.txt")
    tool("pip", *pip, *pinned, f"tsenet=={version}")
    check_install(python, wheel)  # without torch
    tool("pip", *pip, *pinned, f"tsenet[{EXTRA}]=={version}")
    return python


def check_install(python: Path, wheel: Path) -> None:
    """The installed package is the built one, and its command runs."""
    code = "import tsenet; print(tsenet.__version__); print(tsenet.__file__)"
    done = subprocess.run(
        [python, "-P", "-c", code], cwd=CLEAN, capture_output=True, text=True, check=True
    )
    version, file = done.stdout.split("\n")[:2]
    if version != wheel.name.split("-")[1] or not Path(file).is_relative_to(CLEAN):
        raise CheckFailedError(f"{file} has version {version}, not the one of {wheel.name}")
    run(python.with_name("tsenet"), "--version")


def check_examples(python: Path) -> None:
    """The README's examples run from the installed package."""
    run(python, "-P", ROOT / "tests" / "page_examples.py", ROOT / "README.md")


def write_sbom(python: Path, wheel: Path) -> None:
    """List what the environment holds, with versions and licences."""
    path = DIST / f"{'-'.join(wheel.name.split('-')[:2])}.cdx.json"
    tool("cyclonedx_py", "environment", python, "--output-reproducible", "--output-file", path)
    text = path.read_text("utf-8")
    components = json.loads(text)["components"]
    if not any(component["name"] == "tsenet" for component in components):
        raise CheckFailedError("the SBOM does not name tsenet")
    if str(ROOT) in text:
        raise CheckFailedError("the SBOM names a folder of this machine")
    print(f"{path.name}: {len(components)} packages")


def verdict(report: str) -> tuple[str, bool]:
    """What an audit says, and whether it found a vulnerability.

    Parameters
    ----------
    report : str
        pip-audit's JSON, or nothing if it stopped.
    """
    if not report:
        return "not audited: pip-audit could not read the database of vulnerabilities", False
    packages = [entry for entry in json.loads(report)["dependencies"] if entry["name"] != "tsenet"]
    audited = [entry for entry in packages if "skip_reason" not in entry]
    # pip-audit skips a package that the database does not know, and calls the rest free of vulnerabilities: an
    # index without a database looks like a clean audit.
    if not audited:
        return "not audited: the index has no database of vulnerabilities", False
    found = [
        f"{entry['name']} {entry['version']}: {weakness['id']}"
        for entry in audited
        for weakness in entry["vulns"]
    ]
    counts = f"{len(audited)} of {len(packages)} packages audited"
    return "; ".join([counts, *(found or ["no known vulnerability"])]), bool(found)


def audit(python: Path, wheel: Path, required: bool) -> None:
    """Look the installed versions up in the database of known vulnerabilities."""
    path = DIST / f"{'-'.join(wheel.name.split('-')[:2])}.audit.json"
    (site,) = CLEAN.glob("Lib/site-packages" if sys.platform == "win32" else "lib/*/site-packages")
    command = [sys.executable, "-m", "pip_audit", "--path", str(site), "--format", "json"]
    command += ["--progress-spinner", "off", "--timeout", "15", "--output", str(path)]
    done = subprocess.run(command, cwd=ROOT, check=False, stderr=subprocess.PIPE, text=True)
    said, vulnerable = verdict(path.read_text("utf-8") if path.is_file() else "")
    if not path.is_file():
        print(done.stderr[-500:], file=sys.stderr)  # why it stopped
    print(f"pip-audit: {said}", flush=True)
    if said.startswith("not audited"):
        path.unlink(missing_ok=True)
        vulnerable = required
    if vulnerable:
        raise CheckFailedError("the audit stops this release")


def main() -> None:
    """Build, check, install, try, list and audit."""
    parser = argparse.ArgumentParser(description="Build and check a release in dist/.")
    parser.add_argument(
        "--require-audit",
        action="store_true",
        help="fail if the vulnerabilities cannot be looked up",
    )
    parser.add_argument("--tag", help="check that it names this version, and write NOTES.md")
    options = parser.parse_args()
    try:
        changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
        text = notes(changelog, options.tag, version_of_source()) if options.tag else None
        wheel, archive = build()
        tool("twine", "check", "--strict", wheel, archive)
        check_contents(wheel, archive)
        check_description(wheel)
        python = install(wheel)
        check_examples(python)
        write_sbom(python, wheel)
        audit(python, wheel, options.require_audit)
        if text is not None:
            (DIST / "NOTES.md").write_text(text, "utf-8")
    except CheckFailedError as failure:
        raise SystemExit(f"make dist: {failure}") from None
    print("dist/:", ", ".join(sorted(path.name for path in DIST.iterdir())))


if __name__ == "__main__":
    main()
