"""Parts of the conformance suite: memory, devices, facts of kernels, kernels that run as one."""
