"""Every picture (needs matplotlib: ``pip install 'sparseopt[plot]'``); nothing below imports it."""

from sparseopt.pictures.bars import plot_values
from sparseopt.pictures.draw import plot, plot_witness, save_picture
from sparseopt.pictures.graphs import plot_graph
from sparseopt.pictures.private import plot_marginal
from sparseopt.pictures.slider import to_html
from sparseopt.pictures.style import check_picture
from sparseopt.pictures.subspaces import plot_subspace
from sparseopt.pictures.two_sample import plot_weights

__all__ = [
    "check_picture",
    "plot",
    "plot_graph",
    "plot_marginal",
    "plot_subspace",
    "plot_values",
    "plot_weights",
    "plot_witness",
    "save_picture",
    "to_html",
]
