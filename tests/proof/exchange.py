# SPDX-License-Identifier: Apache-2.0
"""Exchange of arrays with PyTorch in the DLPack format, where PyTorch is installed."""
import sys

from .run import tail

LIMIT = 120
NOT_HERE = 77


def prove(proof):
    folder = proof.prefix / "tests" / "dlpack"
    scripts = next((path for path in (folder, proof.prefix / "../../tests/dlpack") if (path / "pytorch_test.py").exists()), None)
    bridge = folder / "weir_dlpack_bridge.so"
    if not scripts or not bridge.exists():
        proof.add("exchange", "PyTorch", False, f"pytorch_test.py or {bridge} is not in the bundle")
        return
    result = proof.run([sys.executable, "-B", scripts / "pytorch_test.py", bridge], LIMIT, "pytorch.log")
    if result.status == NOT_HERE:
        proof.skipped.append(("exchange", "PyTorch", tail(result.text, 1)))
        return
    proof.add("exchange", "PyTorch", result.status == 0,
              tail(result.text, 1) if result.status == 0 else f"{result.words()}: {tail(result.text)}")
