"""How products are cut: into blocks, and into rows and columns that tables hold. No kernel is bound here."""
