"""Ways by which tensors leave for another library and come back from it: `samples`, `file_formats`, `protocols`.

A way knows how the other side reads what we give, and how it gives what we read; nothing here compares.
"""
