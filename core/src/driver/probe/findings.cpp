// SPDX-License-Identifier: Apache-2.0
#include "driver/probe/findings.hpp"

#include <algorithm>
#include <cstring>

#include "driver/probe/probe_communicator.hpp"

namespace weir {
namespace {

constexpr std::size_t max_text = 4096;
constexpr std::size_t max_layers = 64;

// Numbers are 64 bits wide in native byte order; a text is its length followed by its bytes.
class FindingsWriter {
 public:
  void number(std::uint64_t value) { raw(&value, sizeof value); }
  void text(std::string_view value) {
    value = value.substr(0, max_text);
    number(value.size());
    raw(value.data(), value.size());
  }
  void raw(const void* data, std::size_t size) { bytes_.append(static_cast<const char*>(data), size); }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class FindingsReader {
 public:
  explicit FindingsReader(std::string_view bytes) : rest_(bytes) {}

  /// A number above `max_value` is a fault, after which every read returns zero.
  std::uint64_t number(std::uint64_t max_value) {
    std::uint64_t value = 0;
    raw(&value, sizeof value);
    if (value > max_value) sound_ = false;
    return sound_ ? value : 0;
  }
  std::string text() {
    const std::uint64_t size = number(std::min<std::uint64_t>(max_text, rest_.size()));
    std::string value(sound_ ? size : 0, '\0');
    raw(value.data(), value.size());
    return value;
  }
  void raw(void* data, std::size_t size) {
    if (!sound_ || size > rest_.size()) {
      sound_ = false;
      return;
    }
    std::memcpy(data, rest_.data(), size);
    rest_.remove_prefix(size);
  }
  bool sound() const { return sound_; }
  bool ended() const { return sound_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool sound_ = true;
};

}  // namespace

std::string encode(const Findings& findings) {
  FindingsWriter out;
  out.number(findings.refusal.has_value());
  if (findings.refusal) {
    out.number(static_cast<std::uint64_t>(findings.refusal->status));
    out.text(findings.refusal->reason);
    out.text(findings.refusal->remedy);
  }
  out.number(findings.identity.has_value());
  if (findings.identity) {
    out.text(findings.identity->version);
    out.text(findings.identity->vendor);
    out.number(findings.identity->abi_version);
    const std::size_t layers = std::min(findings.identity->layers.size(), max_layers);
    out.number(layers);
    for (std::size_t i = 0; i < layers; ++i) {
      out.text(findings.identity->layers[i].name);
      out.text(findings.identity->layers[i].options);
      out.text(findings.identity->layers[i].library);
    }
  }
  out.text(findings.layers_problem);
  out.number(findings.devices.size());
  for (const weir_device_info& device : findings.devices) out.raw(&device, sizeof device);
  out.number(findings.communicator.has_value());
  if (findings.communicator) out.raw(&*findings.communicator, sizeof *findings.communicator);
  return out.take();
}

std::optional<Findings> decode_findings(std::string_view bytes) {
  FindingsReader in(bytes);
  Findings findings;
  if (in.number(1) != 0) {
    findings.refusal.emplace();
    findings.refusal->status =
        static_cast<DriverStatus>(in.number(static_cast<std::uint64_t>(DriverStatus::broken)));
    findings.refusal->reason = in.text();
    findings.refusal->remedy = in.text();
    if (findings.refusal->status == DriverStatus::usable) return std::nullopt;
  }
  if (in.number(1) != 0) {
    findings.identity.emplace();
    findings.identity->version = in.text();
    findings.identity->vendor = in.text();
    findings.identity->abi_version = static_cast<std::uint32_t>(in.number(UINT32_MAX));
    for (std::uint64_t left = in.number(max_layers); left > 0 && in.sound(); --left) {
      LayerIdentity& layer = findings.identity->layers.emplace_back();
      layer.name = in.text();
      layer.options = in.text();
      layer.library = in.text();
    }
  }
  findings.layers_problem = in.text();
  for (std::uint64_t left = in.number(max_driver_devices); left > 0 && in.sound(); --left) {
    weir_device_info device{};
    in.raw(&device, sizeof device);
    terminate_texts(device);
    if (device.code_target_count > WEIR_MAX_CODE_TARGETS) return std::nullopt;
    findings.devices.push_back(device);
  }
  if (in.number(1) != 0) {
    weir_communicator_info info{};
    in.raw(&info, sizeof info);
    terminate_texts(info);
    if (info.direct_count > WEIR_MAX_DIRECT_DRIVERS) return std::nullopt;
    findings.communicator = info;
  }
  if (!in.ended() || (!findings.refusal && findings.layers_problem.empty() && !findings.identity))
    return std::nullopt;
  return findings;
}

}  // namespace weir
