"""The native libraries that slw stands on live in one process, in whatever order they are first needed."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "order",
    [
        "slw.projections.vectors, fastembed",
        "fastembed, slw.projections.vectors",
        "slw.projections.recall, onnxruntime",
        "slw.projections.cues, fastembed",
    ],
)
def test_the_vector_index_and_the_embedding_runtime_can_be_loaded_in_either_order(order):
    loaded = subprocess.run(
        [sys.executable, "-c", f"import {order}\nprint('loaded')"], capture_output=True, text=True, check=False
    )
    assert loaded.stdout == "loaded\n", loaded.stderr
