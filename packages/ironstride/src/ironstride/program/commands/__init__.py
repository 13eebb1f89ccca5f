"""The commands that take no network: files of tensors, spectra, this machine, completion by the shell.

From the bottom: ``tensor_files``; ``info``, ``conversion`` and ``spectrum``; ``benchmark`` and ``completion`` alone.
"""
