"""Components one after another: data without what a component explains, and how much that is.

References
----------
Mackey (2008): Deflation methods for sparse PCA. Zou, Hastie, Tibshirani (2006): Sparse principal
component analysis, for the adjusted variance.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sparseopt.problems.base import Array


def deflated(Z: Array, v: Array, before: Sequence[Array], way: str) -> Array:
    """Return the data without what a component explains: S = Z'Z is deflated with them.

    Parameters
    ----------
    Z : array of shape (n, d)
    v : array of shape (d,)
        Of length 1.
    before : sequence of arrays of shape (d,)
        The components before it.
    way : {"projection", "schur", "orthogonal"}
        (I - vv')S(I - vv'); S - Svv'S / v'Sv; the projection with v made orthogonal to those
        before.

    Returns
    -------
    array of shape (n, d)
    """
    if way == "schur":
        image = Z @ v
        length = float(np.linalg.norm(image))
        if length == 0.0:
            return Z
        image /= length
        return np.asarray(Z - np.outer(image, image @ Z))
    if way == "orthogonal" and before:
        Q = np.linalg.qr(np.array(before).T)[0]
        rest = v - Q @ (Q.T @ v)
        norm = float(np.linalg.norm(rest))
        v = rest / norm if norm > 1e-12 else np.zeros_like(v)
    return np.asarray(Z - np.outer(Z @ v, v))


def variances(Z: Array, components: Array) -> tuple[Array, Array]:
    """Return what components explain of S = Z'Z.

    Parameters
    ----------
    Z : array of shape (n, d)
    components : array of shape (k, d)

    Returns
    -------
    explained : array of shape (k,)
        v'Sv; correlated components count twice what they share.
    adjusted : array of shape (k,)
        What each explains beyond those before it.
    """
    scores = Z @ components.T
    adjusted = np.zeros(len(components))
    root = np.diag(np.linalg.qr(scores)[1])
    adjusted[: len(root)] = root**2
    return np.einsum("ij,ij->j", scores, scores), adjusted
