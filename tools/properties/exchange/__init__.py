"""Properties of what comes in from elsewhere: files, good and damaged, and descriptors of memory that others lend."""
