// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/link.hpp"

#include <fcntl.h>
#include <lld/Common/Driver.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <thread>
#include <weir/error.hpp>
#include <weir/sdk/thread.hpp>

#include "codegen/llvm_options.hpp"
#include "descriptor.hpp"

LLD_HAS_DRIVER(elf)

namespace weir::codegen {
namespace {

using Object = llvm::SmallVectorImpl<char>;

DescriptorPair open_pipe() {
  DescriptorPair pipe = private_pipe();
  if (pipe.first.get() < 0)
    throw Error(ErrorCode::compile, std::string("linking a kernel: cannot make a pipe: ") +
                                        std::strerror(errno) + "; raise ulimit -n, or close descriptors");
  return pipe;
}

/// A path that opens the same end of a pipe again; valid until the end is closed.
std::string path_of(const Descriptor& end) {
  return "/proc/self/fd/" + std::to_string(end.get());
}

/// Writes the linker's input and reads its output through pipes on a separate thread. The linker accepts and
/// creates only files, and a disk may be full or read-only.
class Feeder {
 public:
  explicit Feeder(const Object& object) : object_(object) {
    ::fcntl(input_.second.get(), F_SETFL, O_NONBLOCK);
    ::fcntl(output_.first.get(), F_SETFL, O_NONBLOCK);
    try {  // A thread that blocks SIGPIPE, so that a write to a closed pipe fails.
      thread_ = sdk::start_thread("weir-link", [this] { run(); });
    } catch (const std::system_error& error) {
      throw Error(ErrorCode::compile, std::string("linking a kernel: ") + error.what());
    }
  }
  Feeder(const Feeder&) = delete;
  Feeder& operator=(const Feeder&) = delete;
  ~Feeder() { join(); }

  std::string source() const { return path_of(input_.first); }
  std::string destination() const { return path_of(output_.second); }

  /// The linker's output. Must be called once, after the linker has returned.
  std::vector<std::byte> take() {
    join();
    if (failed_)
      throw Error(ErrorCode::compile,
                  "linking a kernel: cannot read the output of the linker; memory may be short");
    return std::move(written_);
  }

 private:
  void run() noexcept {
    for (std::size_t done = 0; done < object_.size() && wait_for(input_.second.get(), POLLOUT);) {
      const ssize_t put = ::write(input_.second.get(), object_.data() + done, object_.size() - done);
      if (put < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (put <= 0) break;  // the linker failed before reading all input, and reports the reason
      done += std::size_t(put);
    }
    input_.second.reset();
    while (wait_for(output_.first.get(), POLLIN)) {
    }
    read_available();
  }

  /// Returns false after the linker has returned. Until then reads the linker's output, and waits for
  /// `events` of `end`.
  bool wait_for(int end, short events) noexcept {
    for (;;) {
      pollfd ends[] = {
          {end, events, 0}, {output_.first.get(), POLLIN, 0}, {returned_.first.get(), POLLIN, 0}};
      if (::poll(ends, 3, -1) < 0) continue;
      if (ends[1].revents & POLLIN) read_available();
      if (ends[2].revents) return false;
      if (ends[0].revents) return true;
    }
  }

  void read_available() noexcept {
    std::byte buffer[16384];
    for (;;) {
      const ssize_t got = ::read(output_.first.get(), buffer, sizeof buffer);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return;
      try {
        if (!failed_) written_.insert(written_.end(), buffer, buffer + got);
      } catch (const std::bad_alloc&) {
        failed_ = true;
      }
    }
  }

  // The ends of the pipes do not show that the linker has returned, because a child that was forked meanwhile
  // may hold the linker's descriptors.
  void join() noexcept {
    if (!thread_.joinable()) return;
    returned_.second.reset();
    thread_.join();
  }

  const Object& object_;
  DescriptorPair input_ = open_pipe(), output_ = open_pipe(),
                 returned_ = open_pipe();  // first: reading, second: writing
  std::vector<std::byte> written_;
  bool failed_ = false;
  std::thread thread_;
};

}  // namespace

std::vector<std::byte> link_shared_object(const Object& object, std::initializer_list<const char*> options) {
  Feeder feeder(object);
  const std::string source = feeder.source(), destination = feeder.destination();
  // No `-z defs`: LLVM converts large fills and copies into memset and memcpy of libc, which every process
  // has. Other missing symbols are reported when the object is loaded.
  std::vector<const char*> arguments = {"ld.lld",     "-shared",          "--threads=1",
                                        "-Bsymbolic", "--hash-style=gnu", "--build-id=none"};
  arguments.insert(arguments.end(), options);
  arguments.insert(arguments.end(), {"-o", destination.c_str(), source.c_str()});
  std::string messages;
  llvm::raw_string_ostream out(messages);
  {
    static bool usable = true;
    const OptionsLost alone;
    if (!usable)
      throw Error(ErrorCode::compile,
                  "linking a kernel: the linker failed before and cannot be used again in this process; "
                  "start the process again");
    const lld::Result result = lld::lldMain(arguments, out, out, {{lld::Gnu, &lld::elf::link}});
    usable = result.canRunAgain;
    if (result.retCode != 0) throw Error(ErrorCode::compile, "linking a kernel: " + out.str());
  }
  return feeder.take();
}

}  // namespace weir::codegen
