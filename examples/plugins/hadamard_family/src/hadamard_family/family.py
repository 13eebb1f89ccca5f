"""What the runtime reads of the family before it is loaded; imports nothing."""

FAMILY = {
    "id": "hadamard_family.hadamard/1",
    "operations": {name: f"hadamard_family:{name}" for name in ("khatri_rao", "walsh_hadamard")},
    "cases": "hadamard_family.cases",
}
