"""Backends that do what no backend should; the benchmark has to class each one right."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from sparseopt import Backend, Result, Status


class Good(Backend):
    """The best single variable, which is the optimum of an STRS with d = 1 and a diagonal A."""

    name = "good"
    families = frozenset({"strs"})
    features = frozenset()

    def _solve(self, problem, params, options, control):
        return Result(status=Status.CONVERGED, x=self.point(problem), **self.claims(problem))

    def point(self, problem):
        values = np.diag(problem.A) + np.abs(problem.linear)
        best = int(np.argmax(values))
        x = np.zeros(len(values))
        x[best] = np.copysign(1.0, problem.linear[best])
        return x

    def claims(self, problem):
        return {"objective": problem.objective(self.point(problem))}


class WrongObjective(Good):
    name = "wrong-objective"

    def claims(self, problem):
        return {"objective": 2.0 + problem.objective(self.point(problem))}


class Infeasible(Good):
    name = "infeasible"

    def point(self, problem):
        return np.full(len(problem.linear), 1.0)


class FalseOptimum(Good):
    """States that the worst variable is the best; nothing that it hands over says otherwise."""

    name = "false-optimum"

    def _solve(self, problem, params, options, control):
        x = np.zeros(len(problem.linear))
        x[int(np.argmin(np.diag(problem.A) + np.abs(problem.linear)))] = 1.0
        value = problem.objective(x)
        return Result(status=Status.OPTIMAL, x=x, objective=value, bound=value)


class Hangs(Good):
    name = "hangs"

    def _solve(self, problem, params, options, control):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while True:
            time.sleep(0.01)


class Spawns(Hangs):
    """Hangs, and so does a process that it has started."""

    name = "spawns"

    def _solve(self, problem, params, options, control):
        code = "import time; time.sleep(600)"
        subprocess.Popen([sys.executable, "-c", code, "grandchild", str(Path.cwd())])
        return super()._solve(problem, params, options, control)


class EatsMemory(Good):
    name = "eats-memory"

    def _solve(self, problem, params, options, control):
        eaten = []
        while True:
            eaten.append(np.ones(5_000_000))


class Crashes(Good):
    name = "crashes"

    def _solve(self, problem, params, options, control):
        os.kill(os.getpid(), signal.SIGSEGV)


class Leaves(Good):
    name = "leaves"

    def _solve(self, problem, params, options, control):
        os._exit(0)


class PrintsBinary(Good):
    name = "prints-binary"

    def _solve(self, problem, params, options, control):
        os.write(1, bytes(range(256)) * 1000 + b"\n{}\n")
        os.write(2, b"\xff\xfe\x00 solve\nsave\n")
        sys.stdout.flush()
        return super()._solve(problem, params, options, control)


class Raises(Good):
    name = "raises"

    def _solve(self, problem, params, options, control):
        raise ValueError("the reason that only the solver knows")


class NoLicence(Good):
    name = "no-licence"

    def _solve(self, problem, params, options, control):
        raise RuntimeError("error 10010: model too large for size-limited license")
