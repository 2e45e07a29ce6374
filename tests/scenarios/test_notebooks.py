"""Every notebook runs from top to bottom in a fresh kernel and prints what it says."""

from __future__ import annotations

import sys
from importlib import resources
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted(Path(str(resources.files("bankbench.scenarios.notebooks"))).glob("*.ipynb"))
SAID = {
    "library.ipynb": [
        "pitch 32: 32 wavefronts, 31 of them excess",
        "pitch 33: 1 wavefront, measured",
        "bank 0: 4 words",
        "(8,64):(64,1)",
        "S[(8,64):(64,1)] -> 8 wavefronts",
        "-> 1 wavefronts",
        "1,056 wavefronts, 64 ideal, 992 excess",
        "none with fewer exists",
        "31 excess wavefronts, at most 0 allowed",
    ]
}


def test_there_are_notebooks() -> None:
    assert {path.name for path in NOTEBOOKS} == set(SAID)


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A kernel of this very interpreter, whatever else is installed."""
    folder = tmp_path / "kernels" / "bankbench-test"
    folder.mkdir(parents=True)
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    import json

    (folder / "kernel.json").write_text(
        json.dumps({"argv": argv, "display_name": "test", "language": "python"})
    )
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    return "bankbench-test"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_notebook(path: Path, tmp_path: Path, kernel: str) -> None:
    notebook = nbformat.read(path, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "notebooks are kept without outputs"
    client = NotebookClient(
        notebook, timeout=240, kernel_name=kernel, resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()
    text = "\n".join(
        output.get("text", "") or str(output.get("data", {}).get("text/plain", ""))
        for cell in notebook.cells
        for output in cell.get("outputs", [])
    )
    for line in SAID[path.name]:
        assert line in text, f"{line!r} is not in the output:\n{text}"
