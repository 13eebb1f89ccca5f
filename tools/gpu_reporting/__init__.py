"""The sections of the report on a GPU; each is a function from a :class:`Subject` to lines of Markdown."""
