"""What the registry asks before anybody needs the backend."""

INFO = {"protocol_version": 2, "device_kinds": ("fortran",)}
