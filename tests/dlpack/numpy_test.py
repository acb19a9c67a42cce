# SPDX-License-Identifier: Apache-2.0
"""Exchange of arrays with NumPy: numpy_test.py LIBRARY, the built bridge.cpp. Ends with 77 without NumPy."""
import gc
import sys

try:
    import numpy
except ModuleNotFoundError:
    print(f"SKIPPED: {sys.executable} has no NumPy; install python3-numpy")
    sys.exit(77)
if not hasattr(numpy, "from_dlpack"):
    print(f"SKIPPED: NumPy {numpy.__version__} has no from_dlpack; 1.23 and later have it")
    sys.exit(77)

from bridge import Simulation

simulation = Simulation(sys.argv[1])
assert simulation.__dlpack_device__() == (1, 0)

# Weir's array in NumPy. The export waits for the submitted step.
simulation.step(4)
field = numpy.from_dlpack(simulation)
assert field.shape == (3, 4) and field.dtype == numpy.float32
assert (field == 5).all(), field
simulation.step(1)
simulation.wait()
assert (field == 6).all(), field  # the same memory

# NumPy's array in Weir.
values = numpy.arange(12, dtype=numpy.float32).reshape(3, 4)
references = sys.getrefcount(values)
simulation.borrow(values.__dlpack__())
assert sys.getrefcount(values) > references
simulation.step(100, borrowed=True)
simulation.wait()
assert (values.ravel() == numpy.arange(12) + 100).all(), values
simulation.release()
gc.collect()
assert sys.getrefcount(values) == references, "the deleter did not run"

# Strided memory is borrowed, too. The values around the elements stay as they are.
def check_strided(size, view_of):
    values = numpy.arange(size, dtype=numpy.float32)
    expected = values.copy()
    view_of(expected)[...] += 100
    view = view_of(values)
    assert view.shape == (3, 4) and not view.flags.c_contiguous
    simulation.borrow(view.__dlpack__())
    simulation.step(100, borrowed=True)
    simulation.wait()
    assert (values == expected).all(), values
    simulation.release()


check_strided(12, lambda values: values.reshape(4, 3).T)
check_strided(48, lambda values: values.reshape(6, 8)[1::2, ::2])
check_strided(12, lambda values: values.reshape(3, 4)[::-1, ::-1])
check_strided(48, lambda values: values.reshape(3, 16)[:, 5:9])

# Elements that share memory are refused, or copied on request. NumPy marks such views as read-only and refuses to
# export them, unless they are made writeable.
row = numpy.arange(4, dtype=numpy.float32)
shared = numpy.lib.stride_tricks.as_strided(row, (3, 4), (0, 4))
capsule = shared.__dlpack__()
try:
    simulation.borrow(capsule)
    raise AssertionError("elements that share memory were borrowed")
except RuntimeError as error:
    assert "share memory" in str(error), error
simulation.borrow(capsule, may_copy=True)
simulation.step(1, borrowed=True)
simulation.wait()
assert (row == numpy.arange(4)).all(), "the original has changed"
simulation.release()

for wrong, words in ((numpy.zeros((3, 4)), "float64"), (numpy.zeros(12, numpy.float32), "1 dimensions")):
    try:
        simulation.borrow(wrong.__dlpack__())
        raise AssertionError(f"{words} was borrowed")
    except RuntimeError as error:
        assert words in str(error), error

# The memory outlives the simulation.
simulation.close()
assert (field == 6).all(), field
del field
gc.collect()
print(f"NumPy {numpy.__version__}: arrays pass in both directions without a copy")
