# SPDX-License-Identifier: Apache-2.0
"""The C functions of bridge.cpp as objects with __dlpack__, without any package."""
import ctypes

_capsule_new = ctypes.pythonapi.PyCapsule_New
_capsule_new.restype = ctypes.py_object
_capsule_new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype = ctypes.c_void_p
_capsule_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_capsule_rename = ctypes.pythonapi.PyCapsule_SetName
_capsule_rename.argtypes = [ctypes.py_object, ctypes.c_char_p]
_TENSOR, _USED = b"dltensor", b"used_dltensor"  # the consumer renames what it has taken


class Simulation:
    """A field of 3 x 4 floats, all 1 at first, and a second one that is borrowed from another library."""

    def __init__(self, library):
        self._calls = ctypes.CDLL(library)
        for name in ("bridge_open", "bridge_export", "bridge_stream"):
            getattr(self._calls, name).restype = ctypes.c_void_p
        self._calls.bridge_message.restype = ctypes.c_char_p
        self._self = ctypes.c_void_p(self._checked(self._calls.bridge_open()))

    def close(self):
        self._calls.bridge_close(self._self)

    def _checked(self, result):
        if result is None or result == -1:
            raise RuntimeError(self._calls.bridge_message().decode())
        return result

    def __dlpack_device__(self):
        kind, number = ctypes.c_int(), ctypes.c_int()
        self._checked(self._calls.bridge_device(self._self, ctypes.byref(kind), ctypes.byref(number)))
        return kind.value, number.value

    def __dlpack__(self, stream=None, **_):
        tensor = self._checked(self._calls.bridge_export(self._self, ctypes.c_void_p(stream)))
        return _capsule_new(tensor, _TENSOR, None)

    @property
    def stream(self):
        """The argument for the producer's __dlpack__."""
        return self._calls.bridge_stream(self._self)

    def borrow(self, capsule, may_copy=False):
        tensor = ctypes.c_void_p(_capsule_pointer(capsule, _TENSOR))
        self._checked(self._calls.bridge_import(self._self, tensor, int(may_copy)))
        _capsule_rename(capsule, _USED)

    def release(self):
        self._calls.bridge_release(self._self)

    def step(self, number, borrowed=False):
        self._checked(self._calls.bridge_step(self._self, int(borrowed), ctypes.c_float(number)))

    def wait(self):
        self._calls.bridge_wait(self._self)
