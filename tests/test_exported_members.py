from __future__ import annotations

import subprocess
import sys

import pytest

import forthwith


def test_public_names_are_sorted_and_real() -> None:
    assert forthwith.__all__ == sorted(forthwith.__all__)
    assert all(getattr(forthwith, name).__name__ == name for name in forthwith.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Modle'"):
        forthwith.Modle  # noqa: B018


def test_importing_the_package_loads_no_model_stack() -> None:
    code = "import sys, forthwith; print(sorted({'torch', 'transformers', 'fastapi', 'scipy'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
