"""Files: tensors saved whole or not at all, and loaded after everything a file claims was compared with its size.

Formats on the standard library are read and written by ``tensor_core.files``; here are those that need another library,
and tensors on the way in and out. Imports ``ops`` and what lies below.
"""
