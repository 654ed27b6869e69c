r"""Orbital fixing: at each node, what a symmetry takes to where the search has been.

At a node let :math:`a_j` be where the last upward branch on :math:`x_j` began, and :math:`u_j` its
upper end. A symmetry :math:`\pi` with :math:`a_{\pi(j)} = a_j` for all j takes a point of the
node with :math:`x_i > u_{\pi(i)}` out of the node, and not to the right of it, where upward
branches lie left of downward ones. So :math:`x_i \le u_{\pi(i)}` may be asked for (Margot 2003;
Ostrowski, Linderoth, Rossi, Smriglio 2011, for binary variables). What that leaves out are boxes
of the certificate, with their symmetries: :mod:`sparseopt.proofs.misdp_symmetry` says when they may
be. As all nodes have this done, bounds that propagation or reduced costs would add by symmetry are
there already.
"""

from __future__ import annotations

import numpy as np

from sparseopt.problems.base import Array

from .node import IntegerNode


class OrbitalFixing:
    """Fixes integers of nodes by the symmetries of a problem.

    Parameters
    ----------
    integer : bool array of shape (n,)
    variables, lines : int arrays of shapes (G, n) and (G, lines)
        Symmetries, best all of a group.
    """

    def __init__(self, integer: Array, variables: Array, lines: Array) -> None:
        self._variables, self._lines = variables, lines
        place = np.cumsum(integer) - 1
        self._moves = place[variables[:, integer]]
        self._boxes: list[tuple[bytes, Array, Array, int]] = []

    def fix(self, node: IntegerNode, noted: bool = True) -> bool:
        """Lower the upper ends of a node; return whether something is left of it.

        Parameters
        ----------
        node : IntegerNode
        noted : bool, default True
            Whether a certificate shall have what is left out.

        Notes
        -----
        O(G q).
        """
        moves, upper, risen = self._moves, node.upper, node.risen
        keeping = np.arange(len(moves))
        if risen is not None:
            above = np.flatnonzero(np.isfinite(risen))
            keeping = np.flatnonzero((risen[moves[:, above]] == risen[above]).all(axis=1))
        images = upper[moves[keeping]]
        by = images.argmin(axis=0)
        least = images[by, np.arange(len(upper))]
        tighter = np.flatnonzero(least < upper)
        node.upper = upper = upper.copy()
        for i in tighter.tolist():
            lower = node.lower.copy()
            lower[i] = max(lower[i], least[i] + 1.0)
            if noted:
                self._boxes.append((node.path, lower, upper.copy(), int(keeping[by[i]])))
            if least[i] < node.lower[i]:
                return False
            upper[i] = least[i]
        return True

    def arrays(self) -> dict[str, Array]:
        """Return what was left out, for the certificate: none where nothing was."""
        if not self._boxes:
            return {}
        boxes = sorted(self._boxes, key=lambda box: box[0])
        used, by = np.unique([box[3] for box in boxes], return_inverse=True)
        return {
            "images_lower": np.array([box[1] for box in boxes]),
            "images_upper": np.array([box[2] for box in boxes]),
            "images_by": by.astype(np.int64),
            "images_variables": self._variables[used],
            "images_lines": self._lines[used],
        }
