"""Arrays inside a JSON document: inline where they are few, in a file beside it where not."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from sparseopt.errors import ProblemError
from sparseopt.problems.base import Array

DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "float32", "float64")
_WORDS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_MOST_DIMENSIONS = 8


def collect(tree: Any) -> list[Array]:
    """Return all arrays in a tree of dicts and lists, in its order.

    Parameters
    ----------
    tree : dict, list, array or JSON value

    Returns
    -------
    list of array
    """
    if isinstance(tree, np.ndarray):
        return [tree]
    children = tree.values() if isinstance(tree, Mapping) else tree
    if not isinstance(tree, Mapping | list | tuple):
        return []
    return [array for child in children for array in collect(child)]


def fill(tree: Any, encode: Callable[[Array], Any]) -> Any:
    """Return the tree with each array replaced by its encoding, in the order of :func:`collect`.

    Parameters
    ----------
    tree : dict, list, array or JSON value
    encode : callable
        From an array to a JSON value.

    Returns
    -------
    dict, list or JSON value
    """
    if isinstance(tree, np.ndarray):
        return encode(tree)
    if isinstance(tree, Mapping):
        return {key: fill(child, encode) for key, child in tree.items()}
    if isinstance(tree, list | tuple):
        return [fill(child, encode) for child in tree]
    return tree


def encode_array(array: Array, entry: str | None = None) -> dict[str, Any]:
    """Return the JSON object of an array: its numbers, or the name of its entry in the other file.

    Parameters
    ----------
    array : array
        Of numbers or truth values, at most 8 dimensions.
    entry : str, optional
        The name of its entry in the other file. Default: the numbers stay inside.

    Returns
    -------
    dict

    Raises
    ------
    ProblemError
        When it holds anything but plain numbers.
    """
    if array.dtype.name not in DTYPES:
        raise ProblemError(f"an array of the type {array.dtype} cannot be saved in a result")
    node: dict[str, Any] = {"dtype": array.dtype.name, "shape": list(array.shape)}
    if entry is not None:
        return {**node, "entry": entry}
    numbers = array.reshape(-1).tolist()
    if array.dtype.kind == "f":
        numbers = [number if math.isfinite(number) else str(number) for number in numbers]
    return {**node, "data": numbers}


def decode_array(node: Any, where: str, entries: Callable[[str], Array]) -> Array:
    """Return the array that :func:`encode_array` wrote.

    Parameters
    ----------
    node : JSON value
    where : str
        The place in the document, for messages.
    entries : callable
        From the name of an entry in the other file to its array.

    Returns
    -------
    array

    Raises
    ------
    ProblemError
        When type, shape and numbers do not agree.
    """
    if not isinstance(node, Mapping):
        raise ProblemError(f"{where} is {node!r:.60}; expected an array (dtype, shape, data)")
    dtype, shape = node.get("dtype"), node.get("shape")
    if dtype not in DTYPES:
        raise ProblemError(f"{where}: dtype is {dtype!r}; expected one of {', '.join(DTYPES)}")
    if (
        not isinstance(shape, list)
        or len(shape) > _MOST_DIMENSIONS
        or not all(isinstance(n, int) and not isinstance(n, bool) and n >= 0 for n in shape)
    ):
        raise ProblemError(f"{where}: shape is {shape!r:.60}; expected a list of sizes")
    keys = set(node)
    if keys == {"dtype", "shape", "entry"} and isinstance(node["entry"], str):
        array = entries(node["entry"])
        if array.dtype.name != dtype or list(array.shape) != shape:
            raise ProblemError(
                f"{where}: expected {dtype} of shape {shape}, the arrays file has "
                f"{array.dtype.name} of shape {list(array.shape)}"
            )
        return array
    if keys != {"dtype", "shape", "data"} or not isinstance(node["data"], list):
        raise ProblemError(f"{where}: expected dtype, shape, and a list data or a text entry")
    data = node["data"]
    if len(data) != math.prod(shape):
        raise ProblemError(f"{where}: {len(data)} numbers for the shape {shape}")
    return _numbers(data, dtype, where).reshape(shape)


def _numbers(data: list[Any], dtype: str, where: str) -> Array:
    if dtype == "bool":
        allowed: tuple[type, ...] = (bool,)
    else:
        allowed = (int, float) if dtype.startswith("float") else (int,)
        if allowed == (int, float):
            data = [
                _WORDS.get(number, number) if type(number) is str else number for number in data
            ]
    for at, number in enumerate(data):
        # type, not isinstance: True is an int.
        if type(number) not in allowed:
            raise ProblemError(f"{where}: entry {at} is {number!r:.60}; expected {dtype}")
    try:
        with np.errstate(over="ignore"):
            return np.array(data, dtype=dtype)
    except (OverflowError, ValueError) as error:
        raise ProblemError(f"{where}: a number does not fit into {dtype}") from error
