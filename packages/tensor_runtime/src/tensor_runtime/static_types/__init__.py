"""What the type checker knows of dtypes; nothing here does anything at run time.

``results`` decorates functions whose result has a dtype that follows from that of one or two operands, ``combined`` the
others of those, ``creation`` those that take ``dtype=``. ``tensors`` is ``TypedTensor``.
"""
