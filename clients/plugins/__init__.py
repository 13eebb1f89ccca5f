"""Plug-ins of pytest, one for each suite: what makes another library's tests meet our tensors."""
