// SPDX-License-Identifier: Apache-2.0
// Linear algebra of small matrices, in kernels and on the host: factorisations, eigenvalues, singular values
// and quaternions. Part of <weir/kernel.hpp>.
#pragma once

#include <weir/dsl/factorizations.hpp>
#include <weir/dsl/quaternion.hpp>
#include <weir/dsl/spectral.hpp>
