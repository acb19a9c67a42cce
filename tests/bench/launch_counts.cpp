// SPDX-License-Identifier: Apache-2.0
// Launches a kernel of 4 or 19 arguments a given number of times, for a profiler that counts instructions
// (launch-profile).
//
//   weir-bench-launch-counts 4|19 LAUNCHES      on the device in WEIR_DEVICE
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <weir/weir.hpp>

int main(int argc, char** argv) {
  using namespace weir;
  const std::string_view arguments = argc == 3 ? argv[1] : "";
  if (arguments != "4" && arguments != "19") {
    std::fprintf(stderr, "usage: weir-bench-launch-counts 4|19 LAUNCHES\n");
    return 2;
  }
  const int launches = std::atoi(argv[2]);
  const Device device = open();
  const Stream stream = device.create_stream();
  auto out = device.array<float>(stream, 1024), in = device.array<float>(stream, 1024);
  using In = View<const float>;
  using V = Value<float>;
  const Kernel four{"four", [](View<float> o, In a, V p, V q) {
                      range_for(o.size(), [&](Index i) { o[i] = p * a[i] + q; });
                    }};
  const Kernel nineteen{"nineteen", [](View<float> o, In a, In b, In c, In d, In e, In f, In g, In h, V p0,
                                       V p1, V p2, V p3, V p4, V p5, V p6, V p7, V p8, V p9) {
                          range_for(o.size(), [&](Index i) {
                            o[i] = a[i] * p0 + b[i] * p1 + c[i] * p2 + d[i] * p3 + e[i] * p4 + f[i] * p5 +
                                   g[i] * p6 + h[i] * p7 + p8 + p9;
                          });
                        }};
  const float v = 0.5f;
  for (int i = 0; i < launches; ++i)
    if (arguments == "4")
      four(stream, out, in, v, v);
    else
      nineteen(stream, out, in, in, in, in, in, in, in, in, v, v, v, v, v, v, v, v, v, v);
  stream.synchronize();
}
