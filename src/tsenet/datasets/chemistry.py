"""Features of molecules computed by RDKit: descriptors, and which substructures are present."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from tsenet.datasets.cache import Arrays, cached, pack_strings, unpack_strings
from tsenet.errors import MissingDependencyError
from tsenet.progress import Progress

__all__ = ["describe", "describe_cached"]

# Part of the cache key: increase it when the same molecules would give other arrays.
_RECIPE = 2
# Ipc overflows for large molecules; AvgIpc carries the same information in a bounded range.
_LEFT_OUT = ("Ipc",)


def describe_cached(smiles: Sequence[str], progress: Progress) -> tuple[Any, Any, Any, list[str]]:
    """Return the features of molecules, from the cache if they were computed before.

    Parameters
    ----------
    smiles : sequence of str, length N
    progress : Progress

    Returns
    -------
    sound : ndarray of bool, shape (N,)
        Whether RDKit could read the molecule. Other rows are zeros.
    descriptors : ndarray of float64, shape (N, D)
        NaN or infinite where a descriptor is not defined.
    bits : csr_array of uint8, shape (N, B)
        1 for each substructure that is present.
    names : list of str, length D + B
    """
    distinct = sorted(set(smiles))
    version = _rdkit_version()
    made_from = {"recipe": _RECIPE, "rdkit": version, "smiles": distinct}
    arrays = cached("molecules", made_from, lambda: describe(distinct, progress))
    place = {text: row for row, text in enumerate(distinct)}
    rows = np.array([place[text] for text in smiles], dtype=np.int64)
    names = unpack_strings("names", arrays)
    n_bits = len(names) - arrays["descriptors"].shape[1]
    bits = sp.csr_array(
        (np.ones(len(arrays["indices"]), np.uint8), arrays["indices"], arrays["indptr"]),
        shape=(len(distinct), n_bits),
    )
    return arrays["sound"][rows], arrays["descriptors"][rows], bits[rows], list(names)


def describe(smiles: Sequence[str], progress: Progress) -> Arrays:
    """Compute descriptors and substructures of each molecule, independently of the other molecules.

    Substructures are Morgan environments up to radius 3, atom pairs, topological torsions (all three unfolded, so that
    each has its own column) and the MACCS keys.
    """
    from rdkit import Chem, rdBase
    from rdkit.Chem import Descriptors

    functions = [(name, f) for name, f in Descriptors.descList if name not in _LEFT_OUT]
    descriptors = np.zeros((len(smiles), len(functions)))
    sound = np.zeros(len(smiles), dtype=bool)
    # Type and number of the substructures of each molecule.
    present: list[set[tuple[int, int]]] = []
    substructures = _substructures()
    progress.start("describing molecules", len(smiles))
    with rdBase.BlockLogs():  # RDKit writes to stderr about molecules it cannot read
        for row, text in enumerate(smiles):
            molecule = Chem.MolFromSmiles(text)
            if molecule is not None:
                sound[row] = True
                descriptors[row] = [float(function(molecule)) for _, function in functions]
                present.append(
                    {
                        (kind, bit)
                        for kind, (_, bits_of) in enumerate(substructures)
                        for bit in bits_of(molecule)
                    }
                )
            else:
                present.append(set())
            progress.advance()
    progress.finish(f"{int(sound.sum()):,} of {len(smiles):,}")
    # Sorted, so that the order of two columns does not depend on the other molecules.
    columns = {key: place for place, key in enumerate(sorted(set().union(*present)))}
    names = [f"{substructures[kind][0]}:{bit}" for kind, bit in columns]
    return {
        "sound": sound,
        "descriptors": descriptors,
        "indices": np.array(
            [c for row in present for c in sorted(columns[k] for k in row)], np.int32
        ),
        "indptr": np.cumsum([0, *map(len, present)], dtype=np.int64),
        **pack_strings("names", [*(name for name, _ in functions), *names]),
    }


def _substructures() -> list[tuple[str, Callable[[Any], Any]]]:
    """Return the types of substructures, each with a function that lists those of a molecule as numbers."""
    from rdkit.Chem import rdFingerprintGenerator
    from rdkit.Chem.rdMolDescriptors import GetMACCSKeysFingerprint

    def unfolded(generator: Any) -> Callable[[Any], Any]:
        return lambda molecule: generator.GetSparseFingerprint(molecule).GetOnBits()

    return [
        ("morgan", unfolded(rdFingerprintGenerator.GetMorganGenerator(radius=3))),
        ("pair", unfolded(rdFingerprintGenerator.GetAtomPairGenerator())),
        ("torsion", unfolded(rdFingerprintGenerator.GetTopologicalTorsionGenerator())),
        ("maccs", lambda molecule: GetMACCSKeysFingerprint(molecule).GetOnBits()),
    ]


def _rdkit_version() -> str:
    try:
        import rdkit
    except ImportError as error:
        raise MissingDependencyError(
            "features of molecules need RDKit: pip install tsenet[chem]"
        ) from error
    return str(rdkit.__version__)
