# SPDX-License-Identifier: Apache-2.0
"""Exchange of arrays with PyTorch on the device WEIR_DEVICE: pytorch_test.py LIBRARY, the built bridge.cpp. Ends with 77
without PyTorch for that device."""
import gc
import sys

try:
    import torch
except ModuleNotFoundError:
    print(f"SKIPPED: {sys.executable} has no PyTorch")
    sys.exit(77)

from bridge import Simulation

simulation = Simulation(sys.argv[1])
kind, number = simulation.__dlpack_device__()
on_gpu = kind != 1
if on_gpu and not torch.cuda.is_available():
    print(f"SKIPPED: PyTorch {torch.__version__} finds no GPU")
    sys.exit(77)
device = torch.device("cuda", number) if on_gpu else torch.device("cpu")
expected = torch.arange(12, dtype=torch.float32, device=device).reshape(3, 4)


def long_work():
    """Makes the current stream late, so that missing order shows."""
    if on_gpu:
        torch.cuda._sleep(200_000_000)


# Weir's array in PyTorch: on its default stream, and on another one, which waits without the host.
for stream in [None, torch.cuda.Stream(device)] if on_gpu else [None]:
    with torch.cuda.stream(stream):
        simulation.step(1)
        field = torch.from_dlpack(simulation)
        assert field.device == device and field.shape == (3, 4) and field.dtype == torch.float32
        copy = field.clone()
        long_work()
        total = field.sum().item()
        assert total == copy.sum().item() and total % 12 == 0, total
        del field
gc.collect()
simulation.wait()

# PyTorch's tensor in Weir, whose stream waits for PyTorch's.
side = torch.cuda.Stream(device) if on_gpu else None
with torch.cuda.stream(side):
    values = torch.zeros(3, 4, device=device)
    long_work()
    values += expected
    arguments = {"stream": simulation.stream} if on_gpu else {}
    simulation.borrow(values.__dlpack__(**arguments))
    simulation.step(100, borrowed=True)
    simulation.wait()
    assert torch.equal(values, expected + 100), values

# The tensor's memory lives until Weir's work is done, and is then PyTorch's again.
if on_gpu:
    address, held = values.data_ptr(), torch.cuda.memory_allocated(device)
    simulation.step(1, borrowed=True)
    del values
    gc.collect()
    assert torch.cuda.memory_allocated(device) == held
    simulation.release()
    gc.collect()
    assert torch.cuda.memory_allocated(device) < held
simulation.release()

# Strided tensors are borrowed, too, unless their elements share memory.
arguments = {"stream": simulation.stream} if on_gpu else {}
values = torch.arange(96, dtype=torch.float32, device=device)
for view_of in (lambda all: all[:12].view(4, 3).T, lambda all: all.view(6, 16)[1::2, 3:15:3], lambda all: all.view(8, 4, 3)[2].T):
    expected = values.clone()
    view_of(expected).add_(5)
    if on_gpu:
        torch.cuda.synchronize()
    simulation.borrow(view_of(values).__dlpack__(**arguments))
    simulation.step(5, borrowed=True)
    simulation.wait()
    assert (values == expected).all(), values
    simulation.release()
shared = torch.ones(4, dtype=torch.float32, device=device).expand(3, 4)
try:
    simulation.borrow(shared.__dlpack__(**arguments))
    raise AssertionError("elements that share memory were borrowed")
except RuntimeError as error:
    assert "share memory" in str(error), error
simulation.borrow(shared.__dlpack__(**arguments), may_copy=True)
simulation.step(1, borrowed=True)
simulation.release()

# A tensor of the host on a GPU: copied on request.
if on_gpu:
    host = torch.ones(3, 4)
    try:
        simulation.borrow(host.__dlpack__())
        raise AssertionError("a tensor of the host was borrowed")
    except RuntimeError as error:
        assert "Copy::if_needed" in str(error), error
    simulation.borrow(host.__dlpack__(), may_copy=True)
    simulation.release()
    # Pinned memory is used directly where PyTorch exports it as such; otherwise as memory of the host.
    simulation.borrow(torch.ones(3, 4).pin_memory().__dlpack__(), may_copy=True)
    simulation.release()

simulation.close()
print(f"PyTorch {torch.__version__} on {device}: arrays pass in both directions without a copy")
