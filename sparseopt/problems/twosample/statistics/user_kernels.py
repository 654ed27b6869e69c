r"""Kernels that a user brings, for which no formula is built in.

Two forms are taken:

- a **function** ``k(u, v)`` of observations of shapes (n, D) and (m, D) that returns the Gram
  matrix (n, m), such as those of ``sklearn.metrics.pairwise``. The weights scale the variables,
  :math:`K_z(u, v) = k(z \circ u, z \circ v)`, as they do in the Gaussian kernel;
- an **object** with ``gram(z, u, v)``, which puts the weights wherever it likes. With
  ``gram_gradient(z, u, v)`` of shape (n, m, D) it also gives the derivatives in z; otherwise they
  are central differences.

In files and fingerprints a kernel is a name: that of :func:`register_kernel`, or its module and
qualified name. No code is stored, and none is imported when a file is read: register the kernel
under its name first. A small matrix of its values is stored beside the name, so that another kernel
under the same name is noticed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from sparseopt.errors import ProblemError
from sparseopt.problems.base import Array

PREFIX = "user:"
"""Marks the name of a user's kernel in files."""

KernelFunction = Callable[[Array, Array], Array]

_REGISTERED: dict[str, KernelFunction | WeightedKernel] = {}
_SYMMETRY = 1e-8
_STEP = 1e-3


@runtime_checkable
class WeightedKernel(Protocol):
    """A kernel whose value depends on the weights z in a way of its own."""

    def gram(self, z: Array, u: Array, v: Array) -> Array:
        """Return the matrix of K_z(u_i, v_j), shape (n, m); symmetric in its arguments."""
        ...


@dataclass(frozen=True, eq=False)
class UserKernel:
    """A user's kernel with the name that files know it by.

    Attributes
    ----------
    name : str
    given : callable or WeightedKernel
    """

    name: str
    given: KernelFunction | WeightedKernel

    def gram(self, z: Array, u: Array, v: Array) -> Array:
        """Return the matrix of K_z(u_i, v_j), shape (n, m).

        Raises
        ------
        ProblemError
            When the kernel fails, or returns something else than finite numbers of that shape.
        """
        try:
            if isinstance(self.given, WeightedKernel):
                value = self.given.gram(z, u, v)
            else:
                value = self.given(u * z, v * z)
            K = np.asarray(value, dtype=float)
        except Exception as error:
            raise ProblemError(
                f"the kernel {self.name} failed on observations of shapes {u.shape} and {v.shape}: "
                f"{type(error).__name__}: {error}; expected the Gram matrix of two matrices of "
                "observations, as sklearn.metrics.pairwise returns it",
                "kernel",
            ) from error
        if K.shape != (len(u), len(v)):
            raise ProblemError(
                f"the kernel {self.name} returned the shape {K.shape}; expected the Gram matrix, "
                f"({len(u)}, {len(v)})",
                "kernel",
            )
        if not np.isfinite(K).all():
            raise ProblemError(f"the kernel {self.name} returned numbers that are not finite")
        return K

    def gram_gradient(self, z: Array, u: Array, v: Array) -> Array | None:
        """Return the derivatives of :meth:`gram` in z, shape (n, m, D); None without a formula.

        Raises
        ------
        ProblemError
            When the shape is another, or numbers are not finite.
        """
        formula = getattr(self.given, "gram_gradient", None)
        if formula is None:
            return None
        slope = np.asarray(formula(z, u, v), dtype=float)
        if slope.shape != (len(u), len(v), len(z)):
            raise ProblemError(
                f"gram_gradient of the kernel {self.name} returned the shape {slope.shape}; "
                f"expected ({len(u)}, {len(v)}, {len(z)})",
                "kernel",
            )
        if not np.isfinite(slope).all():
            raise ProblemError(
                f"gram_gradient of the kernel {self.name} returned numbers that are not finite",
                "kernel",
            )
        return slope

    def probe(self, x: Array) -> Array:
        """Return the values on the first observations at equal weights: what tells kernels apart.

        Raises
        ------
        ProblemError
            When the kernel is not symmetric there, or its derivatives are not those of its values.
        """
        u = x[:4]
        z = np.full(u.shape[1], u.shape[1] ** -0.5)
        K = self.gram(z, u, u)
        if np.abs(K - K.T).max() > _SYMMETRY * max(1.0, float(np.abs(K).max())):
            raise ProblemError(f"the kernel {self.name} is not symmetric in u and v", "kernel")
        self._compare_slopes(z, u, float(np.abs(K).max()))
        return K

    def _compare_slopes(self, z: Array, u: Array, size: float) -> None:
        """Raise a ProblemError where the formula of the derivatives is plainly wrong."""
        given = self.gram_gradient(z, u, u)
        if given is None:
            return
        for s, e in enumerate(_STEP * np.eye(len(z))):
            slope = (self.gram(z + e, u, u) - self.gram(z - e, u, u)) / (2.0 * _STEP)
            apart = np.abs(given[:, :, s] - slope)
            i, j = np.unravel_index(int(apart.argmax()), apart.shape)
            # Room for the curvature, and for kernels in single precision.
            if apart[i, j] > 1e-2 * float(np.abs(slope).max()) + 1e-3 * size:
                raise ProblemError(
                    f"gram_gradient of the kernel {self.name} is not the derivative of gram: in "
                    f"z[{s}], between observations {i} and {j}, it says {given[i, j, s]:.3g}; "
                    f"differences of gram give {slope[i, j]:.3g}",
                    "kernel",
                )


def register_kernel(name: str, kernel: KernelFunction | WeightedKernel) -> None:
    """Let files that name a kernel find it.

    Parameters
    ----------
    name : str
        What the file says; registering another kernel under it replaces the first.
    kernel : callable or WeightedKernel

    Raises
    ------
    ProblemError
        When it is no kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseopt.problems import register_kernel
    >>> register_kernel("product", lambda u, v: u @ v.T)
    """
    if not name or not isinstance(name, str):
        raise ProblemError(f"a kernel's name must be a string, got {name!r}", "kernel")
    if not (callable(kernel) or isinstance(kernel, WeightedKernel)):
        raise ProblemError(
            f"{kernel!r:.80} is no kernel: expected a function k(u, v), or an object with "
            "gram(z, u, v)",
            "kernel",
        )
    _REGISTERED[name] = kernel


def user_kernel(given: Any) -> UserKernel:
    """Return a user's kernel with its name, or the registered one of a name "user:NAME".

    Parameters
    ----------
    given : callable, object with ``gram``, or str

    Returns
    -------
    UserKernel

    Raises
    ------
    ProblemError
        When it is no kernel, or nothing is registered under the name.
    """
    if isinstance(given, UserKernel):
        return given
    if isinstance(given, str):
        name = given.removeprefix(PREFIX)
        if name not in _REGISTERED:
            raise ProblemError(
                f"the kernel is a user's, called {name!r}, and none is registered under that name: "
                f"call sparseopt.problems.register_kernel({name!r}, kernel) first",
                "kernel",
            )
        return UserKernel(name, _REGISTERED[name])
    if not (callable(given) or isinstance(given, WeightedKernel)):
        raise ProblemError(
            f"kernel is {given!r:.80}; expected linear, quadratic, gaussian, a function k(u, v), "
            "or an object with gram(z, u, v)",
            "kernel",
        )
    for name, kernel in _REGISTERED.items():
        if kernel is given:
            return UserKernel(name, given)
    named = given if hasattr(given, "__qualname__") else type(given)
    return UserKernel(f"{named.__module__}:{named.__qualname__}", given)
