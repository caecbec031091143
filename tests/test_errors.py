from __future__ import annotations

import pytest

from tsenet import errors


@pytest.mark.parametrize(
    ("error", "built_in"),
    [
        (errors.DataError, ValueError),
        (errors.NonNumericError, TypeError),
        (errors.NonNumericError, errors.DataError),
        (errors.ModelFileError, ValueError),
        (errors.DivergenceError, ArithmeticError),
        (errors.MissingDependencyError, ImportError),
        (errors.TooLargeError, MemoryError),
        (errors.ClusterError, RuntimeError),
    ],
)
def test_each_error_is_a_tsenet_error_and_a_built_in_one(
    error: type[Exception], built_in: type[Exception]
) -> None:
    with pytest.raises(built_in, match="why"):
        raise error("why")
    assert issubclass(error, errors.TSENetError)
