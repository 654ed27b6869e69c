"""The backends of sparseopt: its own engine, HiGHS, column generation, CVXPY, SCIP."""

from benchopt import BaseSolver

import sparseopt
from sparseopt.problems import CLIME


class Solver(BaseSolver):
    """One solve; the checker is left out."""

    name = "sparseopt"
    requirements = ["pip::sparseopt[cvxpy,scip]"]
    sampling_strategy = "run_once"
    parameters = {"backend": ["homotopy", "highs", "highs-ccg", "cvxpy", "scip"]}

    def skip(self, **_):
        found = [each for each in sparseopt.backends() if each.name == self.backend]
        return not (found and found[0].available), f"{self.backend} is not installed"

    def set_objective(self, S, lam):
        self.problem, self.lam = CLIME(S), float(lam)
        self.run(None)  # what is compiled at the first call is not timed

    def run(self, _):
        self.result = sparseopt.solve(self.problem, backend=self.backend, lam=self.lam, check=False)

    def get_result(self):
        return {"Omega": self.problem.matrix(self.result.x)}
