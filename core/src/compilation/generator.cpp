// SPDX-License-Identifier: Apache-2.0
#include "compilation/generator.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <weir/error.hpp>

#include "compilation/request.hpp"
#include "driver/discovery/search_path.hpp"
#include "driver/environment.hpp"
#include "driver/trust/trust.hpp"

namespace weir::compilation {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse_resources(std::string_view what) {
  throw Error(ErrorCode::system,
              fmt::format("the code generator needs {}: {}; raise ulimit -n, or close descriptors", what,
                          strerrordesc_np(errno)));
}

DescriptorPair make_sockets(int type) {
  DescriptorPair pair = private_sockets(type);
  if (pair.second.get() < 0) refuse_resources("a pair of sockets");
  return pair;
}

DescriptorPair make_pipe() {
  DescriptorPair pair = private_pipe();
  if (pair.second.get() < 0) refuse_resources("a pipe");
  return pair;
}

bool send_descriptors(int socket, int first, int second) {
  const int descriptors[2] = {first, second};
  char byte = 0;
  iovec data{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof descriptors)] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof descriptors);
  std::memcpy(CMSG_DATA(header), descriptors, sizeof descriptors);
  ssize_t sent;
  do sent = sendmsg(socket, &message, MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  return sent == 1;
}

std::string why_not_to_be_run(const fs::path& program) {
  if (program.empty()) return "it is not known where Weir is installed";
  if (access(program.c_str(), F_OK) != 0) return program.string() + ": no such file";
  return why_untrusted(program);
}

}  // namespace

GeneratorPolicy make_generator_policy(const GeneratorInputs& inputs) {
  GeneratorPolicy policy;
  if (!inputs.own_library.empty()) policy.program = weir_folder(inputs.own_library) / "weir-codegen";
  constexpr std::uint32_t max_seconds = 1'000'000;
  policy.limit = parse_seconds("WEIR_CODEGEN_LIMIT", inputs.limit, max_seconds).value_or(policy.limit);
  policy.idle = parse_seconds("WEIR_CODEGEN_IDLE", inputs.idle, max_seconds).value_or(policy.idle);
  policy.in_process = parse_word("WEIR_CODEGEN", inputs.where, {"helper", "in-process"}) == 1;
  return policy;
}

GeneratorPolicy current_generator_policy() {
  return make_generator_policy({secure_environment("WEIR_CODEGEN_LIMIT"),
                                secure_environment("WEIR_CODEGEN_IDLE"), current_search_inputs().own_library,
                                secure_environment("WEIR_CODEGEN")});
}

bool Worker::usable() const {
  pollfd state{messages_.get(), POLLIN, 0};
  return messages_.get() >= 0 && poll(&state, 1, 0) == 0;
}

Transfer Worker::send(std::string_view request, Clock::time_point until) const {
  return send_message(messages_.get(), request, until);
}

Transfer Worker::receive(std::string& reply, Clock::time_point until) const {
  return receive_message(messages_.get(), reply, until);
}

std::optional<WorkerEnd> Worker::how_it_ended() const {
  // weir-codegen waits for its workers, so this message arrives at once.
  constexpr std::chrono::seconds grace{5};
  if (wait_readable(end_.get(), Clock::now() + grace) != Transfer::done) return std::nullopt;
  WorkerEnd end;
  ssize_t got;
  do got = read(end_.get(), &end, sizeof end);
  while (got < 0 && errno == EINTR);
  if (got != sizeof end) return std::nullopt;
  end.words[WorkerEnd::max_words - 1] = 0;
  return end;
}

Generator::Generator(const fs::path& program, std::chrono::milliseconds idle) {
  DescriptorPair sockets = make_sockets(SOCK_SEQPACKET);
  socket_ = std::move(sockets.first);
  process_ = DetachedProcess(program, {std::to_string(idle.count())}, sockets.second.get());
}

Worker Generator::start(const GeneratorPolicy& policy) {
  {
    // A lack of descriptors would otherwise look like a program that is not installed.
    const DescriptorPair room = make_sockets(SOCK_STREAM), more = make_sockets(SOCK_STREAM);
  }
  if (const std::string reason = why_not_to_be_run(policy.program); !reason.empty())
    throw MissingGenerator(reason);
  const std::shared_ptr<Generator> made(new Generator(policy.program, policy.idle));
  // Requested before it is ready, so that it starts immediately.
  std::optional<Worker> first = made->add_worker();
  made->expect_greeting(policy);
  if (!first) throw MissingGenerator(policy.program.string() + ": it ended as soon as it was started");
  return std::move(*first);
}

void Generator::expect_greeting(const GeneratorPolicy& policy) const {
  const std::string program = policy.program.string();
  if (wait_readable(socket_.get(), Clock::now() + policy.limit) == Transfer::late)
    throw MissingGenerator(program + ": it did not answer");
  std::string text(max_greeting_bytes, '\0');
  const ssize_t got = recv(socket_.get(), text.data(), text.size(), MSG_DONTWAIT);
  if (got <= 0) throw MissingGenerator(program + ": it ended before it answered");
  text.resize(static_cast<std::size_t>(got));
  if (text != greeting()) throw MissingGenerator(program + ": of another build of Weir");
}

std::optional<Worker> Generator::add_worker() const {
  DescriptorPair messages = make_sockets(SOCK_STREAM);
  DescriptorPair end = make_pipe();
  if (!send_descriptors(socket_.get(), messages.second.get(), end.second.get())) return std::nullopt;
  return Worker(shared_from_this(), std::move(messages.first), std::move(end.first));
}

}  // namespace weir::compilation
