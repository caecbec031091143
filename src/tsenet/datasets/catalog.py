"""The catalog of known data sets: source, licence, citation and files of each.

All digests were published by others: torchtext (md5), scikit-learn and Hugging Face's datasets library (SHA-256).
Where none is known, the digest of the first download is recorded.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from tsenet.errors import DataError

__all__ = ["CATALOG", "TOX21_LABELS", "Entry", "Remote", "entry_of", "names"]


@dataclass(frozen=True)
class Remote:
    """One file to download.

    Attributes
    ----------
    name : str
        File name in the cache.
    url : str
        Where to download it from.
    digest : str or None
        ``algorithm:hex`` of the file's bytes; None if none has been published.
    """

    name: str
    url: str
    digest: str | None = None


@dataclass(frozen=True)
class Entry:
    """One data set of the catalog; :func:`entry_of` finds it by name.

    Attributes
    ----------
    name : str
        Name that :func:`tsenet.datasets.load` takes.
    title : str
        Name to show to people.
    kind : {"documents", "tox21", "images", "bundled"}
        Which loader reads it.
    source, licence, citation : str
        Where it comes from, its terms of use, and the publication to cite.
    classes : tuple of str
        Names of the classes or labels, in the order of their numbers.
    n_train, n_test : int
        Rows of the official files. Validation rows are taken from the training rows.
    features : str
        What the features are, in a word or two.
    forms : tuple of tuple of str
        Alternative sets of files, each with the complete data. Each file may be compressed (.gz, .xz or .bz2).
    optional : tuple of str
        Files that are read too if they are in the same folder.
    remotes : tuple of Remote
        The files to download: those of one of the forms.
    n_validation : int or None
        The paper's number of validation rows; None if the paper does not use this data set.
    text_columns : tuple of int
        For documents in csv files, the columns (from 1) of the text. The class is in column 1.
    escaped_lines : bool
        Whether the csv files write a line break as a backslash and an n.
    bodies_only : bool
        Whether headers, footers and quotes of newsgroup posts are removed.
    shares : str
        Name of the data set whose files it reads; empty for its own.
    digests : mapping of str to str
        Other published digests by file name. The digest for a name without compression suffix is that of the
        uncompressed content.

    Examples
    --------
    >>> from tsenet.datasets import entry_of
    >>> entry = entry_of("ag_news")
    >>> entry.title, entry.n_train, entry.classes
    ("AG's News", 120000, ('World', 'Sports', 'Business', 'Sci/Tech'))
    """

    name: str
    title: str
    kind: Literal["documents", "tox21", "images", "bundled"]
    source: str
    licence: str
    citation: str
    classes: tuple[str, ...]
    n_train: int
    n_test: int
    features: str
    forms: tuple[tuple[str, ...], ...] = ()
    optional: tuple[str, ...] = ()
    remotes: tuple[Remote, ...] = ()
    n_validation: int | None = None
    text_columns: tuple[int, ...] = ()
    escaped_lines: bool = False
    bodies_only: bool = False
    shares: str = ""
    digests: Mapping[str, str] = field(default_factory=dict)

    @property
    def folders(self) -> tuple[str, ...]:
        """Possible names of the folder with its files; the archives of Zhang et al. unpack to the second."""
        return (self.folder, f"{self.folder}_csv")

    @property
    def folder(self) -> str:
        """Name of the folder for its downloaded files."""
        return self.shares or self.name

    def known_digest(self, file_name: str) -> str | None:
        """Return the published digest of a file.

        Parameters
        ----------
        file_name : str

        Returns
        -------
        str or None
            ``algorithm:hex``; None if none has been published.

        Examples
        --------
        >>> from tsenet.datasets import entry_of
        >>> entry_of("ag_news").known_digest("train.csv")
        'md5:b1a00f826fdfbd249f79597b59e1dc12'
        """
        for remote in self.remotes:
            if remote.name == file_name and remote.digest is not None:
                return remote.digest
        return self.digests.get(file_name)


def entry_of(name: str) -> Entry:
    """Return the catalog entry of a data set.

    Parameters
    ----------
    name : str
        One of :func:`names`. Single labels such as ``"tox21/NR-AR"`` belong to the entry ``tox21``.

    Returns
    -------
    Entry

    Raises
    ------
    DataError
        For an unknown name; suggests similar ones.

    Examples
    --------
    >>> from tsenet.datasets import entry_of
    >>> entry_of("mnist").licence
    'CC BY-SA 3.0'
    >>> entry_of("minst")
    Traceback (most recent call last):
        ...
    tsenet.errors.DataError: there is no data set 'minst': did you mean mnist?
    """
    if name in names():
        return CATALOG[name.partition("/")[0]]
    near = difflib.get_close_matches(name, names(), n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(CATALOG)}"
    raise DataError(f"there is no data set {name!r}: {hint}")


def names() -> tuple[str, ...]:
    """Return the names of all known data sets.

    Returns
    -------
    tuple of str

    Examples
    --------
    >>> from tsenet.datasets import names
    >>> "ag_news" in names(), "tox21/NR-AR" in names()
    (True, True)
    """
    return (*CATALOG, *(f"tox21/{label}" for label in TOX21_LABELS))


# In the order of the columns of the challenge's own files.
TOX21_LABELS = (
    "NR-AhR", "NR-AR", "NR-AR-LBD", "NR-Aromatase", "NR-ER", "NR-ER-LBD", "NR-PPAR-gamma",
    "SR-ARE", "SR-ATAD5", "SR-HSE", "SR-MMP", "SR-p53",
)  # fmt: skip

_NEWSGROUPS = (
    "alt.atheism", "comp.graphics", "comp.os.ms-windows.misc", "comp.sys.ibm.pc.hardware",
    "comp.sys.mac.hardware", "comp.windows.x", "misc.forsale", "rec.autos", "rec.motorcycles",
    "rec.sport.baseball", "rec.sport.hockey", "sci.crypt", "sci.electronics", "sci.med",
    "sci.space", "soc.religion.christian", "talk.politics.guns", "talk.politics.mideast",
    "talk.politics.misc", "talk.religion.misc",
)  # fmt: skip

_ZHANG = (
    "Zhang, Zhao, LeCun: Character-level convolutional networks for text classification, NIPS 2015"
)
_ZHANG_SOURCE = "https://github.com/zhangxiangxiao/Crepe"
_PAIR = ("train.csv", "test.csv")
_IDX = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)


def _zhang_files(name: str) -> tuple[tuple[str, ...], ...]:
    return (_PAIR, (f"{name}_csv.tgz",), (f"{name}_csv.tar.gz",))


def _zhang_remote(name: str, sha256: str) -> tuple[Remote, ...]:
    url = f"https://s3.amazonaws.com/fast-ai-nlp/{name}_csv.tgz"
    return (Remote(f"{name}_csv.tgz", url, f"sha256:{sha256}"),)


def _idx_remotes(home: str, *sha256: str) -> tuple[Remote, ...]:
    return tuple(
        Remote(f"{name}.gz", f"{home}/{name}.gz", f"sha256:{digest}")
        for name, digest in zip(_IDX, sha256, strict=True)
    )


_AG_HOME = "https://raw.githubusercontent.com/mhjabreel/CharCnn_Keras/master/data/ag_news_csv"
_DEEPTOX = "http://bioinf.jku.at/research/DeepTox"

_POSTS = Entry(
    name="20newsgroups", title="20 Newsgroups by date", kind="documents",
    source="http://qwone.com/~jason/20Newsgroups",
    licence="not stated (public Usenet posts)",
    citation="Lang: NewsWeeder: learning to filter netnews, ICML 1995",
    classes=_NEWSGROUPS, n_train=11_314, n_test=7_532, features="words", text_columns=(3,), bodies_only=True,
    forms=(_PAIR, ("20news-bydate.tar.gz",)),
    remotes=(
        Remote(
            "20news-bydate.tar.gz", "https://ndownloader.figshare.com/files/5975967",
            "sha256:8f1b2514ca22a5ade8fbb9cfa5727df95fa587f4c87b786e15c759fa66d95610",
        ),
    ),
)  # fmt: skip

_ENTRIES = (
    Entry(
        name="ag_news", title="AG's News", kind="documents",
        source=_ZHANG_SOURCE, licence="non-commercial use only", citation=_ZHANG,
        classes=("World", "Sports", "Business", "Sci/Tech"),
        n_train=120_000, n_test=7_600, n_validation=10_000, features="words", text_columns=(2, 3),
        forms=_zhang_files("ag_news"),
        remotes=(
            Remote("train.csv", f"{_AG_HOME}/train.csv", "md5:b1a00f826fdfbd249f79597b59e1dc12"),
            Remote("test.csv", f"{_AG_HOME}/test.csv", "md5:d52ea96a97a2d943681189a97654912d"),
        ),
    ),
    Entry(
        name="dbpedia", title="DBPedia ontology", kind="documents",
        source=_ZHANG_SOURCE, licence="CC BY-SA 3.0 and GFDL", citation=_ZHANG,
        classes=(
            "Company", "EducationalInstitution", "Artist", "Athlete", "OfficeHolder",
            "MeanOfTransportation", "Building", "NaturalPlace", "Village", "Animal", "Plant",
            "Album", "Film", "WrittenWork",
        ),
        n_train=560_000, n_test=70_000, n_validation=10_010, features="words", text_columns=(2, 3),
        forms=_zhang_files("dbpedia"),
        remotes=_zhang_remote(
            "dbpedia", "42db5221ddedddb673a4cabcc5f3a7d869714c878bcfe4ba94b29d14aa38e417"
        ),
        digests={"dbpedia_csv.tar.gz": "md5:dca7b1ae12b1091090db52aa7ec5ca64"},
    ),
    Entry(
        name="yelp_review_full", title="Yelp Review Full", kind="documents",
        source=_ZHANG_SOURCE, licence="Yelp Dataset Agreement, non-commercial", citation=_ZHANG,
        classes=("1 star", "2 stars", "3 stars", "4 stars", "5 stars"),
        n_train=650_000, n_test=50_000, n_validation=10_000, features="words", text_columns=(2,),
        escaped_lines=True, forms=_zhang_files("yelp_review_full"),
        remotes=_zhang_remote(
            "yelp_review_full", "56006b0a17a370f1e366504b1f2c3e3754e4a3dda17d3e718a885c552869a559"
        ),
        digests={"yelp_review_full_csv.tar.gz": "md5:f7ddfafed1033f68ec72b9267863af6c"},
    ),
    Entry(
        name="yahoo_answers", title="Yahoo! Answers", kind="documents",
        source=_ZHANG_SOURCE, licence="Yahoo! Webscope terms, research only", citation=_ZHANG,
        classes=(
            "Society & Culture", "Science & Mathematics", "Health", "Education & Reference",
            "Computers & Internet", "Sports", "Business & Finance", "Entertainment & Music",
            "Family & Relationships", "Politics & Government",
        ),
        n_train=1_400_000, n_test=60_000, n_validation=10_000, features="words",
        text_columns=(2, 3, 4), escaped_lines=True, forms=_zhang_files("yahoo_answers"),
        remotes=_zhang_remote(
            "yahoo_answers", "2d4277855faf8b35259009425fa8f7fe1888b5644b47165508942d000f4c96ae"
        ),
        digests={"yahoo_answers_csv.tar.gz": "md5:f3f9899b997a42beb24157e62e3eea8d"},
    ),
    Entry(
        name="sogou_news", title="Sogou News (pinyin)", kind="documents",
        source=_ZHANG_SOURCE, licence="not stated", citation=_ZHANG,
        classes=("sports", "finance", "entertainment", "automobile", "technology"),
        n_train=450_000, n_test=60_000, n_validation=10_000, features="words", text_columns=(2, 3),
        escaped_lines=True, forms=_zhang_files("sogou_news"),
        remotes=_zhang_remote(
            "sogou_news", "6b77fc935561d339b82aa552d7e31ea59eff492a494920579b3ce70604efb5c2"
        ),
        digests={
            "sogou_news_csv.tar.gz": "md5:0c1700ba70b73f964dd8de569d3fd03e",
            "train.csv": "md5:f36156164e6eac2feda0e30ad857eef0",
            "test.csv": "md5:59e493c41cee050329446d8c45615b38",
        },
    ),
    _POSTS,
    replace(
        _POSTS, name="20newsgroups_headers", title="20 Newsgroups, headers kept", bodies_only=False,
        shares="20newsgroups",
    ),
    Entry(
        name="imdb", title="IMDB reviews", kind="documents",
        source="https://ai.stanford.edu/~amaas/data/sentiment", licence="not stated",
        citation="Maas et al.: Learning word vectors for sentiment analysis, ACL 2011",
        classes=("negative", "positive"), n_train=25_000, n_test=25_000, features="words",
        text_columns=(2,), forms=(_PAIR, ("aclImdb_v1.tar.gz",)),
        remotes=(
            Remote(
                "aclImdb_v1.tar.gz",
                "https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz",
                "sha256:c40f74a18d3b61f90feba1e17730e0d38e8b97c05fde7008942e91923d1658fe",
            ),
        ),
    ),
    Entry(
        name="tox21", title="Tox21 challenge", kind="tox21",
        source=f"{_DEEPTOX}/tox21.html", licence="not stated (public challenge data)",
        citation="Mayr et al.: DeepTox, Frontiers in Environmental Science 3:80, 2016; "
        "Huang et al.: Tox21Challenge, Frontiers in Environmental Science 3:85, 2016",
        classes=TOX21_LABELS, n_train=12_060, n_test=647, n_validation=500, features="molecular",
        forms=(
            (
                "tox21_dense_train.csv", "tox21_dense_test.csv", "tox21_sparse_train.mtx",
                "tox21_sparse_test.mtx", "tox21_labels_train.csv", "tox21_labels_test.csv",
            ),
            ("tox21.zip",),
            ("tox21.csv",),
        ),
        optional=("tox21_sparse_colnames.txt", "tox21_compoundData.csv"),
        remotes=(
            Remote("tox21.zip", f"{_DEEPTOX}/tox21.zip"),
            Remote("tox21_compoundData.csv", f"{_DEEPTOX}/tox21_compoundData.csv"),
        ),
    ),
    Entry(
        name="mnist", title="MNIST digits", kind="images",
        source="http://yann.lecun.com/exdb/mnist", licence="CC BY-SA 3.0",
        citation="LeCun, Bottou, Bengio, Haffner: Gradient-based learning applied to document "
        "recognition, Proceedings of the IEEE 86(11), 1998",
        classes=tuple("0123456789"), n_train=60_000, n_test=10_000, features="784 pixels",
        forms=(_IDX,),
        remotes=_idx_remotes(
            "https://storage.googleapis.com/cvdf-datasets/mnist",
            "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
            "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
            "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
            "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
        ),
        digests={
            "train-images-idx3-ubyte": "md5:6bbc9ace898e44ae57da46a324031adb",
            "train-labels-idx1-ubyte": "md5:a25bea736e30d166cdddb491f175f624",
            "t10k-images-idx3-ubyte": "md5:2646ac647ad5339dbf082846283269ea",
            "t10k-labels-idx1-ubyte": "md5:27ae3e4e09519cfbb04c329615203637",
        },
    ),
    Entry(
        name="fashion_mnist", title="Fashion-MNIST", kind="images",
        source="https://github.com/zalandoresearch/fashion-mnist", licence="MIT",
        citation="Xiao, Rasul, Vollgraf: Fashion-MNIST, arXiv 1708.07747, 2017",
        classes=(
            "T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker",
            "Bag", "Ankle boot",
        ),
        n_train=60_000, n_test=10_000, features="784 pixels", forms=(_IDX,),
        remotes=_idx_remotes(
            "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion",
            "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
            "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
            "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
            "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
        ),
    ),
    Entry(
        name="digits", title="Handwritten digits, 8 × 8", kind="bundled",
        source="https://archive.ics.uci.edu/dataset/80 (comes with scikit-learn)",
        licence="CC BY 4.0",
        citation="Alpaydin, Kaynak: Optical recognition of handwritten digits, UCI, 1998",
        classes=tuple("0123456789"), n_train=1_438, n_test=359, features="64 pixels",
    ),
)  # fmt: skip

CATALOG: dict[str, Entry] = {entry.name: entry for entry in _ENTRIES}
