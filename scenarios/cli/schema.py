"""`bankbench schema`: the JSON Schema of scenario files, for editors."""

from __future__ import annotations


def schema() -> None:
    """Print the JSON Schema of a scenario file, for completion and checks in editors."""
    import json

    from ..model import Scenario

    document = Scenario.model_json_schema(by_alias=True)
    print(json.dumps({"$schema": "https://json-schema.org/draft/2020-12/schema", **document}, indent=2))
