"""How each operation is computed on a device: by views, by programs of our own, by calls of its libraries.

What a module here binds is planned from forms alone; nothing here knows what device it is.
"""
