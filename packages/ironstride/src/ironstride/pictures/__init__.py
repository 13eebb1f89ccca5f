"""Pictures of tensors and of their spectra, drawn into files.

``plot_tensor`` draws a heat map, ``plot_spectrum`` singular values with the error of truncating them, and
``plot_entanglement`` what the cuts of a matrix product state carry. They need matplotlib (``pip install
'ironstride[plot]'``); plans of contractions draw themselves (``plan.plot``).
"""

from ironstride.pictures.spectra import plot_entanglement, plot_spectrum
from ironstride.pictures.tensors import plot_tensor

__all__ = ["plot_entanglement", "plot_spectrum", "plot_tensor"]
