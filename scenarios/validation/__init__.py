"""Validation: measured rows that come with bankbench, and what the models say to each.

One file a set, one entry a set in `sets.py`. A set yields rows of measured and predicted numbers; everything else
(errors by kind, tables, pictures, JSON) is common to all.
"""

from .row import Row, Summary, summaries
from .sets import SETS, ValidationSet, find_sets

__all__ = ["SETS", "Row", "Summary", "ValidationSet", "find_sets", "summaries"]
