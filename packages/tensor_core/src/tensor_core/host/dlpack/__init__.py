"""Memory exchanged through DLPack: lent to other libraries, and borrowed from them.

``structures`` are C's, and load ctypes; the others load them on use, so that importing costs nothing.
"""
