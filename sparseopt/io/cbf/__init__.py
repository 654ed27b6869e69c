"""Mixed-integer semidefinite programs in the Conic Benchmark Format, .cbf and .cbf.gz.

Read are the versions 1 to 4 as far as a MISDP goes: the domains F, L+, L-, L=, Q, QR and SVECPSD,
matrix variables and matrix inequalities, integers, and SCIP-SDP's PSDVARRANK1 and PSDCONRANK1.
Exponential and power cones, and CHANGE, are refused. The problem has the scalar variables first and
then, one after the other, the entries of the matrix variables.

A file that sparseopt writes holds a comment for its own reader (names, facts, and which rows are
ranges or bounds); with it the problem comes back equal to the last bit. In any other file a row
with a single coefficient, a power of two, becomes a bound of its variable, and two neighbouring
rows that bound one expression from both sides become one row.
"""

from __future__ import annotations

from sparseopt.io.cbf.reader import parse_cbf
from sparseopt.io.cbf.to_problem import misdp_of
from sparseopt.io.cbf.writer import format_cbf
from sparseopt.io.misdp_text import TextFormat

__all__ = ["read_cbf", "read_cbf_header", "write_cbf"]

_FORMAT = TextFormat(
    "cbf", "CBF", parse_cbf, misdp_of, format_cbf, lambda model: {"version": model.version}
)
read_cbf, read_cbf_header, write_cbf = _FORMAT.read, _FORMAT.header, _FORMAT.write
