r"""The independent checker: it trusts no backend, and accepts nothing that it has not recomputed.

What a verdict means
--------------------
``verified``
    Everything that the result states was recomputed from the problem's own data, and the
    evidence that came with it proves the claim of its status.
``unproven``
    Nothing that is stated was found false, but there is no evidence that proves the claim.
``refuted``
    Something that is stated is false, or the evidence does not prove what it is offered for. A
    malformed certificate is refuted as well: bad evidence is no better than a wrong number.

What is proven for parametric problems
--------------------------------------
In the general form, with the coordinates z = (theta, A theta) and the multipliers
v = (-A'nu, nu), weak duality reads

.. math:: P(\theta) - D(\nu) = \sum_i \left[ f_i(z_i) + f_i^*(v_i) - z_i v_i \right] \ge 0,

so a pair with z in the domains, v between the outer slopes and no gap is optimal. A path is proven
segment by segment: a basis makes theta and nu affine in lam, each coordinate's condition (z on
its piece or at its kink, v between that kink's slopes or at the piece's slope) is linear in lam,
and so it holds on a whole segment if it holds at both ends. That the segments meet without a
hole proves the path. Where a path or a problem ends, a Farkas multiplier or a ray proves
that nothing is feasible, or bounded, beyond.

In which arithmetic
-------------------
IEEE double precision, with tolerances relative to the size of the terms that were added up
(:mod:`sparseopt.checking.tolerances`): a verified claim holds exactly for data that differ from the
given ones by about that relative amount. The worst-conditioned of a path's kernels that are solved
anew are solved again in extended precision; the difference is the residual ``extended``.

For third parties
-----------------
:func:`register_verifier` adds a verifier for a new family of problems; it receives the problem,
the result and a :class:`Findings` to write to.
"""

from sparseopt.checking.report import CheckReport, Findings
from sparseopt.checking.run import check
from sparseopt.checking.verifiers import Verifier, register_verifier

__all__ = ["CheckReport", "Findings", "Verifier", "check", "register_verifier"]
