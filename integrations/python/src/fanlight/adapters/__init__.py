"""Adapters of frameworks. Each module needs its framework and is loaded only where it is used."""
