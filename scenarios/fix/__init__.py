"""`bankbench fix`: the layout that takes the bank conflicts away, searched over padding and swizzles."""

from .answer import fix_scenario
from .family import Family, Limits
from .search import Choice, Found, search

__all__ = ["Choice", "Family", "Found", "Limits", "fix_scenario", "search"]
