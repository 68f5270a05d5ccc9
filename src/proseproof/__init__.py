"""Proofs for tutorials: a pytest plugin on top of pytest-codeblocks."""
