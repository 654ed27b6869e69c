"""Every picture (needs matplotlib: ``pip install 'sparseopt[plot]'``); nothing below imports it."""

from sparseopt.pictures.draw import plot, plot_witness, save_picture
from sparseopt.pictures.style import check_picture

__all__ = ["check_picture", "plot", "plot_witness", "save_picture"]
