"""Real documents that every machine has: what the functions of installed packages say they are for."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

# Modules with many docstrings, of packages that are installed with tsenet.
_DOCUMENTED = (
    "scipy.fft scipy.interpolate scipy.linalg scipy.ndimage scipy.optimize scipy.signal scipy.sparse scipy.spatial "
    "scipy.special scipy.stats sklearn.cluster sklearn.datasets sklearn.decomposition sklearn.ensemble "
    "sklearn.linear_model sklearn.metrics sklearn.model_selection sklearn.preprocessing"
)
_SECTION = re.compile(
    r"\n(?=[A-Z][\w ]+\n---|(?:Args|Arguments|Keyword args|Examples?|Returns)::?\n)"
)
# Signatures, and paragraphs that many docstrings share.
_BOILERPLATE = re.compile(
    r"(?s)^\w[\w.]*\(.*\)( ->.*)?$|User Guide|Array API Standard|As an instance of|array arguments are of|^\.\. "
)
_MARKUP = re.compile(r"<[^<>]*>|https?://\S+|:\w+:")


def load_docstrings(*modules: str) -> pd.DataFrame:
    """Return real documents that every machine has: what functions and classes say they are for.

    Parameters
    ----------
    *modules : str
        Installed modules. Default: ten of SciPy and eight of scikit-learn, about 1,100 documents.

    Returns
    -------
    pandas.DataFrame
        Columns ``text`` (the docstring up to its first section, each text once), ``name`` and ``module``.

    Raises
    ------
    ImportError
        If a module is not installed.

    Examples
    --------
    >>> from tsenet.data import load_docstrings
    >>> docs = load_docstrings("scipy.fft", "scipy.linalg")
    >>> docs["name"][0], docs["module"].unique().tolist()
    ('scipy.fft.fft', ['scipy.fft', 'scipy.linalg'])
    """
    import pandas as pd

    rows = []
    for module in modules or _DOCUMENTED.split():
        package = module.partition(".")[0]
        for name, member in vars(import_module(module)).items():
            home = str(getattr(member, "__module__", None) or module)
            if not callable(member) or name.startswith("_") or not home.startswith(package):
                continue

            opening = _SECTION.split(inspect.getdoc(member) or "")[0]
            paragraphs = [part for part in opening.split("\n\n") if not _BOILERPLATE.search(part)]
            text = _MARKUP.sub(" ", "\n\n".join(paragraphs))
            rows.append((text, f"{module}.{name}", module))

    docs = pd.DataFrame(rows, columns=["text", "name", "module"]).drop_duplicates("text")
    whole = docs["text"].str.split().str.len() >= 12  # words; fewer are hardly a sentence
    return docs[whole].reset_index(drop=True)
