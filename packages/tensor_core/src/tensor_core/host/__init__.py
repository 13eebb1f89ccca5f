"""Host tensors: typed elements in host memory, from the block of bytes to the owned tensor.

From the bottom: ``storage``; ``nested`` and ``interchange`` (what comes from lists and from other libraries);
``view_methods``, ``elements`` and ``tensor`` (the classes); ``conversion`` and ``dynamic``. The modules above this
folder know nothing of it, and it may import all of them.
"""
