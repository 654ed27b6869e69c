"""The backends of sparseopt: branch and bound with a proof, outer approximation, two heuristics."""

from benchopt import BaseSolver

import sparseopt
from sparseopt.problems import STRS


class Solver(BaseSolver):
    """One solve; the checker is left out."""

    name = "sparseopt"
    requirements = ["pip::sparseopt"]
    sampling_strategy = "run_once"
    parameters = {"backend": ["strs-bnb", "strs-oa", "strs-admm", "truncation"]}

    def set_objective(self, S, d):
        self.problem = STRS(A=S, d=int(d))
        self.run(None)  # what is compiled at the first call is not timed

    def run(self, _):
        self.result = sparseopt.solve(self.problem, backend=self.backend, check=False)

    def get_result(self):
        return {"x": self.result.x}
