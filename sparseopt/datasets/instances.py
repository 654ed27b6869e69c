"""Instances that come with the package: small problems of every family, with reference values."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

_FOLDER = Path(__file__).parent / "shipped"


def instances() -> Mapping[str, Path]:
    """Return the files of the shipped instances, by name.

    Each is small, solved in about a second, and known: its file says where the data come from and
    under what licence (``sparseopt info NAME``), ``sparseopt.solu`` beside them what is optimal.

    Returns
    -------
    mapping of str to Path
        In the order of the alphabet.

    Examples
    --------
    >>> import sparseopt
    >>> from sparseopt import datasets
    >>> sparseopt.load(datasets.instances()["pitprops"]).size["D"]
    13
    """
    return {file.stem: file for file in sorted(_FOLDER.glob("*.npz"))}
