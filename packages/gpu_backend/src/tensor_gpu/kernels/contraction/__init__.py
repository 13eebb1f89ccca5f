"""Contractions: matrix products by the device's library, sums of products in any algebra by programs of our own."""
