// SPDX-License-Identifier: Apache-2.0
// Each function adds one family of instructions to the table.
#pragma once
#include "isa/semantics.hpp"

namespace weir::hipsim {
#define HIPSIM_VECTOR_FAMILIES                                                             \
  void define_float(OperationTable&);    /* 32-bit floating point */                       \
  void define_double(OperationTable&);   /* 64-bit floating point */                       \
  void define_half(OperationTable&);     /* 16-bit floating point and integers */          \
  void define_integer(OperationTable&);  /* 32- and 64-bit integers, shifts, bit fields */ \
  void define_bytes(OperationTable&);    /* bytes and bits within registers */             \
  void define_carry(OperationTable&);    /* carries in lane masks, selections by mask */   \
  void define_convert(OperationTable&);  /* conversions */                                 \
  void define_division(OperationTable&); /* the steps of IEEE division */                  \
  void define_compare(OperationTable&);  /* comparisons into lane masks */                 \
  void define_packed(OperationTable&);   /* two halves or two singles at once */           \
  void define_mixed(OperationTable&);    /* mixed precision and dot products */            \
  void define_later(OperationTable&);    /* what GFX950 and GFX12 added */
namespace baseline {
HIPSIM_VECTOR_FAMILIES
}
namespace avx2 {
HIPSIM_VECTOR_FAMILIES
}
void define_lanes(OperationTable&);  // between lanes, and between lanes and scalars
void define_dual(OperationTable&);   // two operations in one instruction
void define_scalar_arithmetic(OperationTable&);
void define_scalar_bits(OperationTable&);
void define_scalar_compare(OperationTable&);
void define_scalar_float(OperationTable&);
void define_scalar_half(OperationTable&);
void define_scalar_control(OperationTable&);
void define_scalar_memory(OperationTable&);
void define_global_memory(OperationTable&);  // global, flat and scratch
void define_global_atomics(OperationTable&);
void define_buffer_memory(OperationTable&);
void define_local_memory(OperationTable&);  // LDS
void define_local_atomics(OperationTable&);
}  // namespace weir::hipsim
