// SPDX-License-Identifier: Apache-2.0
// Everything that a program needs.
#pragma once

#include <weir/algorithms.hpp>
#include <weir/array.hpp>
#include <weir/compile.hpp>
#include <weir/current_stream.hpp>
#include <weir/device.hpp>
#include <weir/dlpack.hpp>
#include <weir/element.hpp>
#include <weir/error.hpp>
#include <weir/event.hpp>
#include <weir/future.hpp>
#include <weir/graph.hpp>
#include <weir/kernel.hpp>
#include <weir/launch_report.hpp>
#include <weir/module.hpp>
#include <weir/on_print.hpp>
#include <weir/pack.hpp>
#include <weir/preparation.hpp>
#include <weir/profile.hpp>
#include <weir/program.hpp>
#include <weir/stream.hpp>
#include <weir/struct_array.hpp>
#include <weir/task_list.hpp>
#include <weir/types.hpp>
