"""What pages, docstrings, the Makefile and scripts name exists: files, tests, modules, targets, extras, links."""

from __future__ import annotations

import argparse
import ast
import importlib
import importlib.util
import re
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest
import typer
from markdown.extensions.toc import slugify

from benchmarks.__main__ import app as benchmarks
from reproduce.__main__ import parser_of_commands

ROOT = Path(__file__).parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
MODULES = [
    path
    for folder in ("src", "reproduce", "benchmarks", "examples", "scripts")
    for path in sorted((ROOT / folder).rglob("*.py"))
]
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.py"))
SCRIPTS = sorted((ROOT / "scripts").glob("*.py"))
PROGRAMS = [ROOT / "Makefile", ROOT / ".ci" / "run", *(ROOT / ".github").rglob("*.*"), *SCRIPTS]

CODE = re.compile(r"(?<!`)(`{1,2})(?!`)([^`\n]+(?:\n[^`\n]+)?)\1(?!`)")
FENCE = re.compile(r"^ *```[^\n]*\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!\\)\]\(<?([^)\s>]+)>?[^)]*\)")
ROLE = re.compile(r":(?:\w+:)?\w+:`~?(tsenet\.[\w.]+)")
DOTTED = re.compile(r"~?((?:tsenet|reproduce|benchmarks)(?:\.[a-zA-Z_]\w*)+)")
TEST_ID = re.compile(r"\btests/[\w/]*\w(?:\.\w+)?(?:::\w+)*")
FOLDERS = re.compile(r"(?:src|tests|docs|reproduce|benchmarks|examples|scripts|explorer-src)/")
#: Names that begin so are of files and folders that programs write.
WRITTEN = ("build/", "demo/", "dist/", "site/", "topics/", "out/", ".venv")


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def wrong(paths: list[Path], problems: Callable[[Path], list[str]]) -> dict[str, list[str]]:
    """The problems of each file that has any."""
    return {relative(path): found for path in paths if (found := problems(path))}


@cache
def prose_of(path: Path) -> str:
    """A page without its blocks, or the docstrings of a module."""
    text = path.read_text("utf-8")
    if path.suffix == ".md":
        return FENCE.sub("", text)
    nodes = (ast.Module, ast.ClassDef, ast.FunctionDef)
    docstrings = [ast.get_docstring(n) for n in ast.walk(ast.parse(text)) if isinstance(n, nodes)]
    return "\n".join(docstring for docstring in docstrings if docstring)


def code_in(path: Path) -> Iterator[str]:
    """What stands as code in the prose of a page or module."""
    for match in CODE.finditer(prose_of(path)):
        yield " ".join(match[2].split())


def commands_in(path: Path) -> Iterator[str]:
    """Code in the prose, and each line of a page's blocks."""
    yield from code_in(path)
    for block in FENCE.findall(path.read_text("utf-8")) if path.suffix == ".md" else []:
        yield from (line.strip().removeprefix("$ ") for line in block.splitlines())


@cache
def files() -> frozenset[str]:
    folders = ("src", "tests", "reproduce", "benchmarks", "examples", "scripts", "docs")
    paths = (path for folder in folders for path in (ROOT / folder).rglob("*.*"))
    return frozenset(relative(path) for path in paths if "__pycache__" not in path.parts)


def file_exists(name: str) -> bool:
    """Whether a path is one of the repository or of the package, or the end of one."""
    if (ROOT / name).exists() or (ROOT / "src" / "tsenet" / name).exists():
        return True
    return any(path.endswith(f"/{name}") for path in files())


def names_file(code: str) -> bool:
    """Whether a piece of code names a file or folder of the project, not one that a user writes."""
    if not re.fullmatch(r"[\w./-]+", code) or code.startswith(("/", *WRITTEN)):
        return False
    if re.search(r"\b[A-Z]{2,}\.", code):  # NAME.py stands for any
        return False
    return FOLDERS.match(code) is not None or code.endswith((".py", "/"))


def test_files_that_are_named_exist() -> None:
    def missing(path: Path) -> list[str]:
        return [code for code in code_in(path) if names_file(code) and not file_exists(code)]

    assert wrong([*PAGES, *MODULES], missing) == {}


def object_exists(dotted: str) -> bool:
    """Whether a dotted name leads to a module or to what a module or class has."""
    parts = dotted.split(".")
    for length in range(len(parts), 0, -1):
        try:
            place: object = importlib.import_module(".".join(parts[:length]))
        except ImportError:
            continue
        for part in parts[length:]:
            if not hasattr(place, part):
                return part in getattr(place, "__annotations__", {})  # an attribute of instances
            place = getattr(place, part)
        return True
    return False


def test_modules_classes_and_functions_that_are_named_exist() -> None:
    def missing(path: Path) -> list[str]:
        starts = [DOTTED.match(code) for code in code_in(path)]
        names = {*ROLE.findall(prose_of(path)), *(match[1] for match in starts if match)}
        return [
            name
            for name in sorted(names)
            if not name.endswith((".html", ".json")) and not object_exists(name.rstrip("."))
        ]

    assert wrong([*PAGES, *MODULES], missing) == {}


def test_make_targets_that_are_named_exist() -> None:
    targets = re.findall("^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)

    def missing(path: Path) -> list[str]:
        found = [re.match(r"make ([a-z-]+)", command) for command in commands_in(path)]
        return [match[1] for match in found if match and match[1] not in targets]

    assert wrong([*PAGES, *MODULES], missing) == {}


def test_the_readme_says_in_one_place_how_to_run_the_main_job_and_the_tests() -> None:
    paragraphs = (ROOT / "README.md").read_text("utf-8").split("\n\n")
    (place,) = [text for text in paragraphs if "`make test`" in text]
    assert "`make demo`" in place
    assert place.startswith("From a clone: ")


def test_the_readme_begins_with_what_it_is_for_the_paper_a_picture_and_three_short_examples() -> (
    None
):
    first, _ = (ROOT / "README.md").read_text("utf-8").split("\n## ", 1)
    lead, picture = first.split("\n\n")[1:3]
    assert lead.startswith("**You have")
    assert "** It implements TSE-Net ([Chen, Li and Zhang 2018]" in lead.replace("\n", " ")
    assert re.fullmatch(r"!\[[^\]]+\]\(docs/images/gallery/network\.png\)", picture)
    topics, classifier, paper = re.findall(
        r"^```python\n(.*?)^```$", first, re.MULTILINE | re.DOTALL
    )
    calls = {
        topics: "TopicModel(",
        classifier: "TSENetClassifier(",
        paper: "TSENetClassifier.paper(",
    }
    for example, call in calls.items():
        assert call in example
        assert len([line for line in example.splitlines() if line]) <= (
            3 if example is paper else 6
        )


def test_options_of_experiments_and_benchmarks_exist() -> None:
    def options_of_reproduce() -> set[str]:
        parsers = [parser_of_commands()]
        for parser in parsers:
            for action in parser._actions:
                if isinstance(action, argparse._SubParsersAction):
                    parsers += action.choices.values()
        return {option for parser in parsers for option in parser._option_string_actions}

    def options_of_benchmarks() -> set[str]:
        commands = typer.main.get_group(benchmarks).commands.values()
        return {option for c in commands for parameter in c.params for option in parameter.opts}

    options = {
        "reproduce": options_of_reproduce(),
        "benchmarks": options_of_benchmarks() | {"--help"},
    }

    def missing(path: Path) -> list[str]:
        return [
            f"{match[1]} {option}"
            for command in commands_in(path)
            if (match := re.match(r"(?:python -m |make )(reproduce|benchmarks)\b(.*)", command))
            for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*", match[2])
            if option not in options[match[1]]
        ]

    assert wrong([*PAGES, *MODULES], missing) == {}


@cache
def anchors_of(page: Path) -> frozenset[str]:
    """The anchors of a page's headings, as the site makes them, and its own."""
    text = page.read_text("utf-8")
    headings = re.findall(r"^#+ +(.+?) *(?:\{ *#([\w-]+) *\})?$", FENCE.sub("", text), re.MULTILINE)
    slugs = {own or slugify(re.sub(r"[`*]", "", title), "-") for title, own in headings}
    return frozenset(slugs | set(re.findall(r'<a (?:id|name)="([^"]+)"', text)))


def test_relative_links_lead_to_files_and_headings() -> None:
    """In the repository, without the pages that only the site has."""

    def leads_somewhere(path: Path, address: str) -> bool:
        target, _, anchor = address.partition("#")
        if re.match(r"[a-z]+:", target):
            return True
        file = (path.parent / target).resolve() if target else path
        return file.exists() and (not anchor or anchor in anchors_of(file))

    def broken(path: Path) -> list[str]:
        return [link for link in LINK.findall(prose_of(path)) if not leads_somewhere(path, link)]

    assert wrong(PAGES, broken) == {}


def test_extras_that_are_named_exist() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    extras = set(settings["project"]["optional-dependencies"])

    def missing(path: Path) -> list[str]:
        text = path.read_text("utf-8")
        lists = re.findall(r"(?:tsenet|install[^\n]*['\"]\.)\[([a-z,]+)\]", text)
        return sorted({name for names in lists for name in names.split(",")} - extras)

    assert wrong([*PAGES, *MODULES, *TUTORIALS, ROOT / "Makefile"], missing) == {}


def test_nothing_installs_tsenet_from_an_index_that_does_not_have_it() -> None:
    """Until the first release it comes from a clone, as README.md says; RELEASING.md says what to do with this test."""

    def wrongly_installed(path: Path) -> list[str]:
        return re.findall(r"pip install '?tsenet\b.*", path.read_text("utf-8"))

    pages = [page for page in PAGES if page.name != "RELEASING.md"]
    assert wrong([*pages, *MODULES, *TUTORIALS], wrongly_installed) == {}


def is_test(identifier: str) -> bool:
    """Whether a path, and what follows it after ``::``, names tests."""
    file, *names = identifier.split("::")
    path = ROOT / file
    if not names:
        return path.exists()
    nodes: list[ast.stmt] = ast.parse(path.read_text("utf-8")).body if path.is_file() else []
    for name in names:
        inner = [
            node.body
            for node in nodes
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name
        ]
        if not inner:
            return False
        nodes = inner[0]
    return True


def test_tests_that_are_named_exist() -> None:
    """pytest ignores an unknown name to deselect or to leave out."""

    def missing(path: Path) -> list[str]:
        return [name for name in TEST_ID.findall(path.read_text("utf-8")) if not is_test(name)]

    assert wrong([*PAGES, *PROGRAMS], missing) == {}


def script(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"script_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", SCRIPTS, ids=relative)
def test_scripts_can_be_imported(path: Path) -> None:
    assert script(path).__doc__


def test_the_modules_and_tests_of_the_mutation_run_exist() -> None:
    tested = script(ROOT / "scripts" / "mutation.py").TESTED
    assert [name for name in tested if not file_exists(f"src/tsenet/{name}.py")] == []
    assert [name for names in tested.values() for name in names.split() if not is_test(name)] == []


#: Folders of tests that are about more than a module of their own: the page in a browser, rules of the whole project,
#: the documentation, random inputs, other implementations, crashes and memory. In all others each file has the name of
#: a module, and a few words more where a module has several: `test_network_few_labels.py` tests `network.py`.
ABOUT_MORE = {"browser", "contract", "docs", "oracle", "properties", "reliability"}
#: Likewise for files that are in no folder.
ABOUT_ALL = {"test_canaries.py", "test_docs.py", "test_docstrings.py"}
#: Folders of tests of packages that are not in the wheel.
OTHER_PACKAGES = {"benchmarks", "examples", "reproduce"}


def module_of(file: Path) -> Path | None:
    """The module that a file of tests is named after: the one of the longest name that its own begins with."""
    inside = file.relative_to(ROOT / "tests")
    package = ROOT if inside.parts[0] in OTHER_PACKAGES else ROOT / "src" / "tsenet"
    words = file.stem.split("_")[1:]
    for n_words in range(len(words), 0, -1):
        name = "_".join(words[:n_words])
        for spelled in (name, f"_{name}", f"__{name}__"):
            module = package / inside.with_name(f"{spelled}.py")
            if module.is_file():
                return module
    return None


def test_files_of_tests_have_the_names_of_modules() -> None:
    tests = ROOT / "tests"
    files = [
        file
        for file in tests.rglob("test_*.py")
        if file.relative_to(tests).parts[0] not in ABOUT_MORE
    ]
    nameless = {relative(file) for file in files if module_of(file) is None}
    assert nameless == {f"tests/{name}" for name in ABOUT_ALL}, (
        "name them after the modules they test"
    )
    assert len(files) > 100
