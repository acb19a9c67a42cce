// SPDX-License-Identifier: Apache-2.0
// One step of thousands of small robots, written as a simulator writes it: twenty loops of one statement or
// two, over robots, joints and feet, in whichever order the arrays have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>
#include <weir/weir.hpp>

namespace robots {

using weir::Index;
using weir::Value;
using weir::Var;
using weir::View;

inline constexpr std::int64_t joints = 6, feet = 4, axes = 3;

inline constexpr float dt = 0.004f, gravity = 9.81f;
inline constexpr float spring = 8.0f, damper = 0.6f, armature = 0.1f, coupling = 0.3f,
                       limit = 0.6f;                                        // joints
inline constexpr float stiffness = 300.0f, friction = 20.0f, reach = 0.1f;  // feet

// A robot stands on springy feet. Its joints carry springs, and the mass matrix depends on their angles.
inline constexpr auto step = [](View<float, 2> angle,          // (joint, robot)
                                View<float, 2> speed,          // (joint, robot)
                                View<float> height,            // (robot)
                                View<float> rise,              // (robot), the speed of the height
                                View<const float, 2> torque,   // (robot, joint)
                                View<const float, 2> rest,     // (foot, axis)
                                View<const float, 2> lever,    // (joint, foot)
                                View<const float, 2> inertia,  // (joint, joint)
                                View<float, 2> force,          // (robot, joint)
                                View<float, 3> foot,           // (robot, foot, axis)
                                View<float, 2> depth,          // (robot, foot), below the ground
                                View<float, 3> push,           // (robot, foot, axis)
                                View<float, 3> mass,           // (joint, joint, robot)
                                View<float, 3> lower,          // (joint, joint, robot)
                                View<float, 2> half_solved,    // (joint, robot)
                                View<float, 2> acceleration,   // (joint, robot)
                                View<float> energy) {          // (robot)
  using weir::for_, weir::range_for, weir::select;
  const Index n = height.size();

  // Set to zero.
  range_for(n, [&](Index e) { energy[e] = 0.0f; });
  range_for(n, joints, [&](Index e, Index j) { force(e, j) = 0.0f; });
  range_for(n, feet, axes, [&](Index e, Index f, Index a) { push(e, f, a) = 0.0f; });

  // Contacts of the feet with the ground.
  range_for(n, feet, axes, [&](Index e, Index f, Index a) {
    foot(e, f, a) = rest(f, a) + select(a == 2, height[e], reach * angle(f, e));
  });
  range_for(n, feet, [&](Index e, Index f) { depth(e, f) = max(-foot(e, f, 2), 0.0f); });
  range_for(n, feet, axes, [&](Index e, Index f, Index a) {
    push(e, f, a) += depth(e, f) * select(a == 2, stiffness, -friction * speed(a, e));
  });

  // Forces on the joints.
  range_for(joints, n, [&](Index j, Index e) {
    force(e, j) += torque(e, j) - spring * angle(j, e) - damper * speed(j, e);
  });
  range_for(n, joints, [&](Index e, Index j) {
    for_(0, feet, [&](Index f) { force(e, j) += lever(j, f) * push(e, f, j % axes); });
  });

  // Mass matrices, and their factors of Cholesky.
  range_for(joints, joints, n, [&](Index i, Index j, Index e) {
    mass(i, j, e) = inertia(i, j) + coupling * angle(i, e) * angle(j, e);
  });
  range_for(joints, n, [&](Index j, Index e) { mass(j, j, e) += armature + dt * damper; });
  range_for(n, [&](Index e) {
    for_(0, joints, [&](Index j) {
      Var<float> pivot = mass(j, j, e);
      for_(0, j, [&](Index k) { pivot -= lower(j, k, e) * lower(j, k, e); });
      lower(j, j, e) = sqrt(pivot);
      for_(j + 1, joints, [&](Index i) {
        Var<float> entry = mass(i, j, e);
        for_(0, j, [&](Index k) { entry -= lower(i, k, e) * lower(j, k, e); });
        lower(i, j, e) = entry / lower(j, j, e);
      });
    });
  });

  // Two solves with triangular matrices.
  range_for(n, [&](Index e) {
    for_(0, joints, [&](Index i) {
      Var<float> right = force(e, i);
      for_(0, i, [&](Index k) { right -= lower(i, k, e) * half_solved(k, e); });
      half_solved(i, e) = right / lower(i, i, e);
    });
  });
  range_for(n, [&](Index e) {
    for_(0, joints, [&](Index k) {
      const Index i = joints - 1 - k;
      Var<float> right = half_solved(i, e);
      for_(i + 1, joints, [&](Index r) { right -= lower(r, i, e) * acceleration(r, e); });
      acceleration(i, e) = right / lower(i, i, e);
    });
  });

  // Integration and limits.
  range_for(joints, n, [&](Index j, Index e) { speed(j, e) += dt * acceleration(j, e); });
  range_for(joints, n, [&](Index j, Index e) { angle(j, e) += dt * speed(j, e); });
  range_for(joints, n, [&](Index j, Index e) {
    speed(j, e) = select(abs(angle(j, e)) > limit, 0.0f, speed(j, e));
    angle(j, e) = clamp(angle(j, e), -limit, limit);
  });
  range_for(n, [&](Index e) {
    rise[e] -= dt * gravity;
    for_(0, feet, [&](Index f) { rise[e] += dt * push(e, f, 2); });
  });
  range_for(n, [&](Index e) { height[e] += dt * rise[e]; });

  // Energy.
  range_for(
      n, [&](Index e) { for_(0, joints, [&](Index j) { energy[e] += 0.5f * speed(j, e) * speed(j, e); }); });
  range_for(n, [&](Index e) { energy[e] += gravity * height[e] + 0.5f * rise[e] * rise[e]; });
};

inline constexpr std::size_t loops_of_step = 20;

/// The arrays of `count` robots.
class Robots {
 public:
  Robots(const weir::Device& device, std::int64_t count)
      : angle(device.array<float>(joints, count)),
        speed(device.array<float>(joints, count)),
        height(device.array<float>(count)),
        rise(device.array<float>(count)),
        torque(device.array<float>(count, joints)),
        rest(device.array<float>(feet, axes)),
        lever(device.array<float>(joints, feet)),
        inertia(device.array<float>(joints, joints)),
        force(device.array<float>(count, joints)),
        foot(device.array<float>(count, feet, axes)),
        depth(device.array<float>(count, feet)),
        push(device.array<float>(count, feet, axes)),
        mass(device.array<float>(joints, joints, count)),
        lower(device.array<float>(joints, joints, count)),
        half_solved(device.array<float>(joints, count)),
        acceleration(device.array<float>(joints, count)),
        energy(device.array<float>(count)) {}

  /// Robots above the ground, no two of which are alike.
  void reset(const weir::StreamRef& stream) {
    const auto fill = [&](auto& array, auto value) {
      std::vector<float> host(array.size());
      for (std::size_t k = 0; k < host.size(); ++k) host[k] = value(static_cast<std::int64_t>(k));
      array.copy_from(stream, host);
    };
    fill(angle, [](std::int64_t k) { return 0.002f * static_cast<float>(k * 37 % 101 - 50); });
    fill(height, [](std::int64_t k) { return 0.3f + 0.001f * static_cast<float>(k * 13 % 97); });
    fill(torque, [](std::int64_t k) { return 0.02f * static_cast<float>(k * 29 % 89 - 44); });
    fill(rest, [](std::int64_t k) { return k % axes == 2 ? -0.2f : 0.05f * static_cast<float>(k - 5); });
    fill(lever, [](std::int64_t k) { return 0.02f * static_cast<float>(k * 7 % 11 - 5); });
    fill(inertia, [](std::int64_t k) { return k % (joints + 1) == 0 ? 1.5f : 0.1f; });
    for (const auto& array : {weir::AnyArrayView(speed), weir::AnyArrayView(rise), weir::AnyArrayView(lower)})
      array.fill_zero(stream);
    stream.synchronize();
  }

  /// The arguments of a kernel of `step`, in order.
  auto arguments() const {
    return std::tie(angle, speed, height, rise, torque, rest, lever, inertia, force, foot, depth, push, mass,
                    lower, half_solved, acceleration, energy);
  }

  weir::Array<float, 2> angle, speed;
  weir::Array<float> height, rise;
  weir::Array<float, 2> torque, rest, lever, inertia, force;
  weir::Array<float, 3> foot;
  weir::Array<float, 2> depth;
  weir::Array<float, 3> push, mass, lower;
  weir::Array<float, 2> half_solved, acceleration;
  weir::Array<float> energy;
};

}  // namespace robots
