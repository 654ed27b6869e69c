"""What a private release says of itself, as data that a second program can audit."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from sparseopt.errors import ParamError, ProblemError
from sparseopt.io.files import replacing
from sparseopt.io.strict_json import loads_object
from sparseopt.private.gaussian import discrete_delta

FORMAT = "sparseopt-private-statement"
VERSION = 1
INTEGER_BITS = 400
"""Of sensitivities and variances, which are whole."""
_FIELDS = frozenset(
    {
        "format",
        "version",
        "mechanism",
        "neighbours",
        "records",
        "noise_of_mean",
        "map",
        "count_weight",
        "grid_bits",
        "dimension",
        "sensitivity_squared",
        "variance",
        "epsilon",
        "delta",
        "curve",
        "noise",
    }
)


@dataclass(frozen=True)
class Statement:
    """The privacy of one release, and everything that it follows from.

    Attributes
    ----------
    data : mapping
        As in the JSON file: `neighbours` ("replace-one" or "add-remove"), `records` (the public
        number of records, None where it is protected), `noise_of_mean` (the standard deviation of
        each mean feature, None where the number of records is), `map` (the features),
        `count_weight` (of the coordinate that counts records, 0 for none), `grid_bits` (features
        are multiples of 2^-grid_bits), `dimension`, `sensitivity_squared` and `variance` (integers,
        in squared grid steps), `epsilon`, `delta`, `curve` (pairs epsilon, delta that hold, too),
        `noise`
        ("operating system", or "NOT PRIVATE").
    """

    data: Mapping[str, Any]

    def __post_init__(self) -> None:
        missing, unknown = _FIELDS - set(self.data), set(self.data) - _FIELDS
        version = self.data.get("version")
        if (
            missing
            or unknown
            or self.data["format"] != FORMAT
            or (type(version), version) != (int, VERSION)
        ):
            what = f"{', '.join(sorted(missing))} missing" if missing else "format or version"
            if unknown:
                what = f"{min(map(str, unknown))!r:.80} is unknown, and nobody would audit it"
            raise ParamError(
                f"this is no statement of a private release, version {VERSION}: {what}"
            )

    @property
    def epsilon(self) -> float:
        """The epsilon that was asked."""
        return float(self.data["epsilon"])

    @property
    def delta(self) -> float:
        """The delta that was asked."""
        return float(self.data["delta"])

    @property
    def eta(self) -> float:
        """Sensitivity over the noise's standard deviation."""
        return math.sqrt(self.data["sensitivity_squared"] / self.data["variance"])

    def delta_at(self, epsilon: float) -> float:
        """Return the delta of the same noise at any epsilon: the curve that `curve` has points of.

        Parameters
        ----------
        epsilon : float
            From 0 to 50.

        Raises
        ------
        ParamError
            When epsilon is out of range.

        Examples
        --------
        >>> from sparseopt import private
        >>> stated = private.release(
        ...     {"x": [0.5]}, bounds={"x": (0, 1)}, epsilon=1.0, delta=1e-3
        ... ).statement
        >>> round(stated.delta_at(0.5), 4)
        0.023
        """
        if not 0.0 <= epsilon <= 50.0:
            raise ParamError(f"epsilon is {epsilon}; expected a number from 0 to 50")
        sigma = math.sqrt(self.data["variance"])
        return discrete_delta(self.eta, epsilon, sigma, self.data["dimension"])

    @property
    def private(self) -> bool:
        """Whether the noise came from the operating system."""
        return bool(self.data["noise"] == "operating system")

    def __str__(self) -> str:
        """Return the statement in English."""
        data = self.data
        word = {
            "replace-one": f"one of the {data['records']} records is replaced by any other",
            "add-remove": "one record is added or removed",
        }[data["neighbours"]]
        text = (
            f"The release is ({self.epsilon:g}, {self.delta:g})-differentially private: where "
            f"{word}, no event becomes more likely by more than a factor "
            f"{math.exp(self.epsilon):.4g}, but for {self.delta:g}. It is a sum of "
            f"{data['dimension']} features on a grid of steps 2^-{data['grid_bits']}, to which "
            "discrete Gaussian noise with a standard deviation of "
            f"{math.sqrt(data['variance']):.6g} steps was added; the sum changes by at most "
            f"{math.sqrt(data['sensitivity_squared']):.6g} steps. Columns, bounds, levels, length "
            "scales and orders were given, not read off the data."
        )
        return text if self.private else f"NOT PRIVATE: the noise was seeded for a test. {text}"

    def save(self, path: str | PathLike[str]) -> None:
        """Write the statement as JSON, whole or not at all.

        Parameters
        ----------
        path : path-like

        Raises
        ------
        ProblemError
            When the file cannot be written.
        """
        with replacing(path) as stream:
            stream.write((json.dumps(dict(self.data), indent=1) + "\n").encode())

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Statement:
        """Read a statement.

        Parameters
        ----------
        path : path-like

        Raises
        ------
        ParamError
            When the file cannot be read or is no statement.
        """
        try:
            return cls(loads_object(Path(path).read_bytes(), str(path), bits=INTEGER_BITS))
        except (OSError, ProblemError) as error:
            raise ParamError(f"{path} cannot be read as a statement: {error}") from error
