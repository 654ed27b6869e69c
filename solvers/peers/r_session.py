"""An R process that answers calls: for peers that are R packages."""

from __future__ import annotations

import shutil
import subprocess
import threading
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from sparseopt.backend import Availability, Control
from sparseopt.problems.base import Array
from sparseopt.result import Limit

from ..common.child import MARK, Child

__all__ = ["R", "RSession", "r_package"]

_LOOP = r"""
receive <- function(folder) {
  types <- c("character", "integer", "integer")
  index <- read.table(file.path(folder, "index.txt"), colClasses = types)
  given <- list()
  for (i in seq_len(nrow(index))) {
    rows <- index[i, 2]
    columns <- index[i, 3]
    file <- file.path(folder, paste0(index[i, 1], ".in"))
    values <- readBin(file, "double", rows * max(columns, 1), endian = "little")
    given[[index[i, 1]]] <- if (columns > 0) matrix(values, rows, columns) else values
  }
  given
}
send <- function(folder, answer) {
  for (name in names(answer)) {
    writeBin(as.double(answer[[name]]), file.path(folder, paste0(name, ".out")), endian = "little")
  }
}
requests <- file("stdin", "r")
repeat {
  line <- readLines(requests, 1)
  if (!length(line)) break
  words <- strsplit(line, "\t")[[1]]
  said <- tryCatch({
    if (words[1] == "library") suppressMessages(library(words[2], character.only = TRUE))
    else send(words[2], suppressWarnings(do.call(words[1], receive(words[2]))))
    "done"
  }, error = function(e) paste("failed", gsub("\n", " ", conditionMessage(e))))
  cat(MARK, said, "\n", sep = "")
  flush(stdout())
}
"""


class RSession:
    """One R process for all peers that are R packages, started when it is first needed.

    Arrays go through files of raw doubles, the columns of a matrix one after another.
    """

    def __init__(self) -> None:
        self._child: Child | None = None
        self._loaded: set[str] = set()
        self._turn = threading.Lock()
        self._home: TemporaryDirectory[str] | None = None

    def run(
        self, package: str, source: str, function: str, control: Control, **arrays: Array | float
    ) -> dict[str, Array] | Limit:
        """Call an R function.

        Parameters
        ----------
        package : str
            What its R code needs.
        source : str
            R code that defines the function, and that reads no file.
        function : str
            Its name; it takes the arrays by name and returns a list of numeric vectors.
        control : Control

        Returns
        -------
        dict of str to vectors, or the Limit that ended it

        Raises
        ------
        BackendError
            With R's own message.
        """
        with self._turn, TemporaryDirectory(prefix="sparseopt-") as name:
            folder = Path(name)
            with control.uncounted():
                child = self._ready(package, source, control)
            if isinstance(child, Limit):
                return child
            _write(folder, arrays)
            limit = child.call(f"{function}\t{folder.as_posix()}", control, work="solving in R")
            if limit is not None:
                return limit
            return {file.stem: np.fromfile(file, "<f8") for file in folder.glob("*.out")}

    def _ready(self, package: str, source: str, control: Control) -> Child | Limit:
        """Return an R that has loaded the package and the code."""
        if self._child is None or not self._child.usable or source not in self._loaded:
            if self._child is not None:
                self._child.end()
            self._loaded.add(source)
            self._home = TemporaryDirectory(prefix="sparseopt-")
            script = Path(self._home.name) / "session.R"
            words = [f'MARK <- "{MARK}"', *sorted(self._loaded), _LOOP]
            script.write_text("\n".join(words), encoding="utf-8")
            self._child = Child(["Rscript", "--vanilla", str(script)])
        return self._child.call(f"library\t{package}", control) or self._child


def _write(folder: Path, arrays: Mapping[str, Any]) -> None:
    lines = []
    for name, value in arrays.items():
        array = np.asarray(value, dtype="<f8")
        shape = array.shape if array.ndim == 2 else (array.size, 0)
        lines.append(f"{name} {shape[0]} {shape[1]}")
        (folder / f"{name}.in").write_bytes(array.tobytes("F"))
    (folder / "index.txt").write_text("\n".join(lines) + "\n", encoding="ascii")


R = RSession()
"""The one R process."""


@cache
def r_package(name: str) -> Availability:
    """Tell whether Rscript and an R package are there; Rscript is asked once, 0.2 s."""
    if shutil.which("Rscript") is None:
        return Availability(
            False, "Rscript is not on the PATH: install R (https://www.r-project.org)"
        )
    asked = f'cat(tryCatch(as.character(packageVersion("{name}")), error = function(e) ""))'
    try:
        said = subprocess.run(
            ["Rscript", "--vanilla", "-e", asked],
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Availability(False, f"Rscript does not run: {error}")
    version = said.stdout.strip()
    if said.returncode != 0 or not version:
        how = f"install.packages('{name}') in R"
        return Availability(False, f"the R package {name} is not installed: {how}")
    return Availability(True, version=version)
