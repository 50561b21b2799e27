"""Benchmark programs: run with `python -m benches.<program>` from the top of the repository."""
