"""What a release relies on: links that work outside the repository, a complete source archive, workflows."""

from __future__ import annotations

import importlib.util
import re
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

import tsenet

ROOT = Path(__file__).parents[2]
WORKFLOWS = ROOT / ".github" / "workflows"
NAMES = sorted(path.stem for path in WORKFLOWS.glob("*.yml"))


@pytest.fixture(scope="module")
def dist() -> ModuleType:
    """The program of ``make dist``."""
    spec = importlib.util.spec_from_file_location("dist", ROOT / "scripts" / "dist.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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


def test_the_source_archive_has_the_files_that_make_and_the_tests_read() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    packed = settings["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    named = re.findall(r"\b([\w-]+\.(?:txt|toml|yml|md))\b", (ROOT / "Makefile").read_text("utf-8"))
    wanted = {name for name in named if (ROOT / name).is_file()} - {"pyproject.toml", "README.md"}
    assert "constraints-oldest.txt" in wanted
    assert {f"/{name}" for name in wanted | {".github", ".pre-commit-config.yaml"}} <= set(packed)
    assert [path for path in packed if not (ROOT / path[1:]).exists()] == []


# ---- workflows, and what a public project has


def workflow(name: str) -> dict[str, Any]:
    """A workflow; YAML reads its key ``on`` as true."""
    content: dict[str, Any] = yaml.safe_load((WORKFLOWS / f"{name}.yml").read_text("utf-8"))
    return content


def steps(name: str) -> list[dict[str, Any]]:
    return [step for job in workflow(name)["jobs"].values() for step in job.get("steps", ())]


def test_the_tests_run_on_every_system_and_python_that_the_package_names() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    versions = re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"]))
    matrix = workflow("ci")["jobs"]["test"]["strategy"]["matrix"]
    assert matrix["python"] == versions
    assert {name.partition("-")[0] for name in matrix["os"]} == {"ubuntu", "macos", "windows"}


def test_workflows_run_targets_that_exist_and_nothing_of_their_own() -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    commands = [step["run"] for name in NAMES for step in steps(name) if "run" in step]
    made = {found for command in commands for found in re.findall(r"\bmake ([a-z-]+)", command)}
    assert {"lint", "oldest", "docs", "dist"} <= made <= set(targets)
    assert ".ci/run" in commands
    assert workflow("ci")[True].keys() >= {"pull_request", "workflow_call"}


def test_actions_have_versions_and_jobs_no_more_rights_than_they_need() -> None:
    for name in NAMES:
        assert workflow(name)["permissions"] == {"contents": "read"}
        for step in steps(name):
            assert re.search(r"@(v\d+|release/v\d+)$", step.get("uses", "@v0")), step
    writers = {
        (name, job)
        for name in NAMES
        for job, content in workflow(name)["jobs"].items()
        if "write" in content.get("permissions", {}).values()
    }
    assert writers == {("docs", "deploy"), ("release", "publish"), ("release", "announce")}


def test_a_release_is_tested_built_and_published_without_a_stored_token() -> None:
    assert workflow("release")[True] == {"push": {"tags": ["v*"]}}
    jobs = workflow("release")["jobs"]
    assert jobs["test"]["uses"] == "./.github/workflows/ci.yml"
    assert [jobs[job]["needs"] for job in ("build", "publish", "announce")] == [
        *("test", "build", "publish")
    ]
    assert jobs["publish"]["environment"] == "pypi"
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert "secrets." not in (WORKFLOWS / "release.yml").read_text("utf-8")


def test_a_tag_must_name_this_version_and_a_dated_section(dist: ModuleType) -> None:
    changelog = "# Changelog\n\n## [0.2.0] - 2027-01-31\n\n### Added\n\n- News.\n\n## [0.1.0] - x\n"
    assert dist.notes(changelog, "v0.2.0", "0.2.0") == "### Added\n\n- News.\n"
    for tag, version in (("v0.2.1", "0.2.0"), ("v0.1.0", "0.1.0"), ("0.2.0", "0.2.0")):
        with pytest.raises(dist.CheckFailedError):
            dist.notes(changelog, tag, version)
    assert dist.version_of_source() == tsenet.__version__


def test_the_changelog_has_one_block_for_each_version_with_the_usual_headings() -> None:
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    versions = re.findall(r"^## \[(.+)\] - (?:Unreleased|\d{4}-\d\d-\d\d)$", text, re.MULTILINE)
    assert versions[0] == tsenet.__version__
    assert len(set(versions)) == len(re.findall("^## ", text, re.MULTILINE))
    usual = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    assert set(re.findall("^### (.+)$", text, re.MULTILINE)) <= usual


def test_what_is_updated_by_itself_exists() -> None:
    updates = yaml.safe_load((ROOT / ".github" / "dependabot.yml").read_text("utf-8"))["updates"]
    files = {"pip": "*.txt", "npm": "package-lock.json", "github-actions": ".github/workflows/*"}
    for update in updates:
        folder = ROOT / update["directory"].lstrip("/")
        assert [*folder.glob(files[update["package-ecosystem"]])], update
    assert {update["package-ecosystem"] for update in updates} == set(files)


def test_the_site_takes_its_address_from_where_it_is_published() -> None:
    settings = (ROOT / "mkdocs.yml").read_text("utf-8")
    assert re.search(r"^site_url: !ENV \[SITE_URL, \"\"\]", settings, re.MULTILINE)
    docs = next(step for step in steps("docs") if step.get("run") == "make docs")
    assert "SITE_URL" in docs["env"]


def test_how_to_behave_and_what_may_change_is_said() -> None:
    assert "(CODE_OF_CONDUCT.md)" in (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    assert "FutureWarning" in (ROOT / "RELEASING.md").read_text("utf-8")
