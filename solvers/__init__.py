"""How it is solved: one module or folder for each backend.

The sources live in ``solvers/`` at the top of the repository and are reached, in the tree as in
the wheel, as ``sparseopt.solvers``. Importing this package imports no backend.
"""

if __name__ != "sparseopt.solvers":
    # Under a second name every backend would be a second class, and the registry would fill twice.
    raise ImportError(
        f"this package was imported as {__name__!r}, but its one name is 'sparseopt.solvers': "
        "write 'import sparseopt.solvers' (or better, call sparseopt.solve(problem, backend=...))",
        name=__name__,
    )
