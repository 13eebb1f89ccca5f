"""Sources of programs for devices, tested without one.

They are run on the host, compiled by its C++ compiler under its sanitizers, and compared with what the programs mean:
both are given the same memory (``recording``, ``building``, ``running``, ``comparing``; ``shim`` says what the words of
CUDA mean on the host). And they are compiled to device code (``nvrtc``). Which launches: ``drawing``.
"""
