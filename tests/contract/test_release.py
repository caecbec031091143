"""What a release relies on: one version, the form of the changelog, pinned tools, hooks, templates, an honest audit."""

from __future__ import annotations

import importlib.util
import json
import re
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
import yaml

import tsenet

ROOT = Path(__file__).parents[2]
KINDS = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")
HEADING = re.compile(
    r"\[(Unreleased|(\d+)\.(\d+)\.(\d+))\]( - (Unreleased|\d{4}-\d{2}-\d{2})( \[YANKED\])?)?"
)


def faults_of(changelog: str) -> list[str]:
    """Where a changelog leaves the form of Keep a Changelog: headings, their order, sections without entries."""
    faults = [] if changelog.startswith("# Changelog\n") else ["the title is not '# Changelog'"]
    versions: list[tuple[int, ...]] = []
    for section in re.split(r"^## ", changelog, flags=re.MULTILINE)[1:]:
        title, _, body = section.partition("\n")
        found = HEADING.fullmatch(title)
        if found is None:
            faults.append(f"not a version with its date: {title}")
            continue
        if found[1] == "Unreleased":
            if versions or found[5]:
                faults.append("[Unreleased] comes first and has no date")
        elif found[5] is None:
            faults.append(f"{title} has no date")
        else:
            versions.append(tuple(int(found[i]) for i in (2, 3, 4)))
            if found[6] == "Unreleased" and len(versions) > 1:
                faults.append(f"{title}, but a later version is above it")
        parts = [part.partition("\n") for part in re.split(r"^### ", body, flags=re.MULTILINE)[1:]]
        names = [name for name, _, _ in parts]
        faults += [
            f"{title}: no such kind of change: {name}" for name in names if name not in KINDS
        ]
        faults += [f"{title}: {name} comes twice" for name in set(names) if names.count(name) > 1]
        faults += [f"{title}: {name} is empty" for name, _, text in parts if "\n- " not in text]
    if versions != sorted(set(versions), reverse=True):
        faults.append("the newest version does not come first")
    return faults


def test_the_changelog_is_in_form() -> None:
    assert faults_of((ROOT / "CHANGELOG.md").read_text("utf-8")) == []


@pytest.mark.parametrize(
    ("sections", "fault"),
    [
        ("## 0.2.0\n", "not a version"),
        ("## [0.2.0] - 1 May 2026\n", "not a version"),
        ("## [0.2.0]\n", "no date"),
        ("## [0.2.0] - 2026-05-01\n\n### Improved\n\n- a\n", "no such kind"),
        ("## [0.2.0] - 2026-05-01\n\n### Added\n\n### Fixed\n\n- a\n", "Added is empty"),
        ("## [0.2.0] - 2026-05-01\n\n### Fixed\n\n- a\n\n### Fixed\n\n- b\n", "twice"),
        ("## [0.1.0] - 2026-05-01\n\n## [0.2.0] - 2026-06-01\n", "newest"),
        ("## [0.2.0] - 2026-05-01\n\n## [0.1.0] - Unreleased\n", "later version"),
        ("## [0.2.0] - 2026-05-01\n\n## [Unreleased]\n", "comes first"),
    ],
)
def test_a_changelog_out_of_form_is_caught(sections: str, fault: str) -> None:
    assert any(fault in found for found in faults_of(f"# Changelog\n\n{sections}"))


def test_a_changelog_in_form_passes() -> None:
    text = (
        "# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2026-05-01 [YANKED]\n\n### Added\n\n- a\n"
    )
    assert faults_of(text) == []


def test_the_version_is_written_once() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert "version" in settings["project"]["dynamic"]
    assert "version" not in settings["project"]
    source = ROOT / settings["tool"]["hatch"]["version"]["path"]
    assert f'\n__version__ = "{tsenet.__version__}"\n' in source.read_text("utf-8")
    again = [
        path.name
        for path in (ROOT / "src").rglob("*.py")
        if path != source and re.search(r"^__version__ =", path.read_text("utf-8"), re.MULTILINE)
    ]
    assert again == []


def test_the_tools_of_a_release_are_pinned() -> None:
    lines = (ROOT / "scripts" / "dist-requirements.txt").read_text("utf-8").splitlines()
    pins = [line for line in lines if not line.startswith("#")]
    assert [pin for pin in pins if not re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][0-9a-z.]*", pin)] == []
    names = {pin.split("==")[0].replace("_", "-") for pin in pins}
    assert {"build", "twine", "hatchling", "cyclonedx-bom", "pip-audit"} <= names


def test_the_hooks_are_the_checks_of_make_lint() -> None:
    settings = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))
    assert [repository["repo"] for repository in settings["repos"]] == ["local"]
    commands = [hook["entry"] for hook in settings["repos"][0]["hooks"]]
    lint = re.search(
        r"^lint:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE
    )
    assert lint is not None
    wanted = [line.strip().replace("$(BIN)", ".venv/bin") for line in lint[1].splitlines()]
    assert [command.replace(" --force-exclude", " .") for command in commands] == wanted


@pytest.mark.parametrize("name", ["bug", "feature", "result"])
def test_the_issue_forms_are_complete(name: str) -> None:
    path = ROOT / ".github" / "ISSUE_TEMPLATE" / f"{name}.yml"
    form = yaml.safe_load(path.read_text("utf-8"))
    assert form["name"]
    assert form["description"]
    fields = [part for part in form["body"] if part["type"] != "markdown"]
    assert all(part["attributes"]["label"] for part in fields)
    assert len({part["id"] for part in fields}) == len(fields)
    assert any(part.get("validations", {}).get("required") for part in fields)


@pytest.fixture(scope="module")
def dist() -> ModuleType:
    """The program of ``make dist``."""
    spec = importlib.util.spec_from_file_location("dist", ROOT / "scripts" / "dist.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("packages", "said", "vulnerable"),
    [
        ([{"name": "a", "version": "1", "vulns": []}], "1 of 1 packages audited", False),
        ([{"name": "a", "version": "1", "vulns": [{"id": "CVE-1"}]}], "a 1: CVE-1", True),
        ([{"name": "a", "skip_reason": "not found"}], "not audited", False),
        # tsenet itself, before its release, is always unknown
        ([{"name": "tsenet", "version": "1", "vulns": []}], "not audited", False),
    ],
)
def test_an_audit_of_nothing_is_not_called_clean(
    dist: ModuleType, packages: list[dict[str, object]], said: str, vulnerable: bool
) -> None:
    verdict = dist.verdict(json.dumps({"dependencies": packages, "fixes": []}))
    assert said in verdict[0]
    assert verdict[1] is vulnerable


def test_an_audit_that_stopped_says_so(dist: ModuleType) -> None:
    assert dist.verdict("") == (
        "not audited: pip-audit could not read the database of vulnerabilities",
        False,
    )


def test_built_files_are_found_in_a_release(dist: ModuleType) -> None:
    assert dist.unwanted(["tsenet/a.py", "tsenet/__pycache__/a.pyc", "e/node_modules/x"]) == [
        "tsenet/__pycache__/a.pyc",
        "e/node_modules/x",
    ]


def description() -> str:
    """The description that the build writes into the metadata: README.md after pyproject's substitutions."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    hook = settings["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
    text = "".join((ROOT / part["path"]).read_text("utf-8") for part in hook["fragments"])
    for change in hook["substitutions"]:
        text = re.sub(change["pattern"], change["replacement"], text)
    return text


def test_the_description_has_no_relative_link_and_keeps_its_words(dist: ModuleType) -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    assert dist.relative_links(readme)  # what there is to replace
    assert dist.relative_links(description()) == []
    assert "https://arxiv.org/abs/1803.06120" in description()
    for heading in re.findall("^## .+$", readme, re.MULTILINE):
        assert heading in description()


def test_relative_links_are_found(dist: ModuleType) -> None:
    text = "[a](docs/a.md), ![b](b.png), [c](https://c.org), [d](#d), `[e](e)`\n```\n[f](f)\n```\n"
    assert dist.relative_links(text) == ["docs/a.md", "b.png"]


def test_the_examples_of_the_readme_run_with_what_they_need(
    dist: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They train networks: torch is there when they run, and not yet when the bare package is tried."""
    done: list[str] = []
    monkeypatch.setattr(dist, "tool", lambda *given: done.append(str(given[-1])))
    monkeypatch.setattr(dist, "check_install", lambda *_: done.append("tried"))
    monkeypatch.setattr(dist.venv, "create", lambda *_, **__: None)
    dist.install(Path("tsenet-1.2.3-py3-none-any.whl"))
    assert done == ["tsenet==1.2.3", "tsenet==1.2.3", "tried", "tsenet[train]==1.2.3"]
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"][
        "optional-dependencies"
    ]
    assert any(package.startswith("torch") for package in extras[dist.EXTRA])


def test_the_source_archive_has_the_files_that_make_and_the_tests_read() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    packed = settings["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    named = re.findall(r"\b([\w-]+\.(?:txt|toml|yml|md))\b", (ROOT / "Makefile").read_text("utf-8"))
    wanted = {name for name in named if (ROOT / name).is_file()} - {"pyproject.toml", "README.md"}
    assert "constraints-oldest.txt" in wanted
    assert {f"/{name}" for name in wanted | {".github", ".pre-commit-config.yaml"}} <= set(packed)
    assert [path for path in packed if not (ROOT / path[1:]).exists()] == []
