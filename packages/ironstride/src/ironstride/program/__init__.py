"""The program `ironstride`: what each command reads, does and prints.

From the bottom: ``units``, ``output_paths``, ``report``; ``network_file``, ``operands`` and ``sources`` (what a user
gives); ``arguments``; the commands ``contract``, ``planning`` and ``calibrate``, and those in ``commands``,
which take no network; ``main``; ``start``, which the installed program calls.
"""
