"""Linear algebra by the routines of the device's library, on stacks of matrices that lie one after the other."""
