// SPDX-License-Identifier: Apache-2.0
#include "rendezvous.hpp"

#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <weir/sdk/status.hpp>

namespace weir::collectives {
namespace {

using namespace std::chrono_literals;
using sdk::format_text;

constexpr std::uint64_t magic = 0x31736b6e61726577;  // "weranks1"

/// A rank's request to rank 0.
struct Hello {
  std::uint64_t magic = collectives::magic, limit = 0;
  std::uint32_t number = 0, rank = 0, size = 0, validate = 0;
  Member member;
};

/// Rank 0's answer; the table follows a result of WEIR_OK.
struct Answer {
  enum : std::uint32_t { busy = ~0u };  ///< rank 0 serves another group; the rank asks again
  std::uint32_t result = WEIR_OK, size = 0;
  std::uint64_t token = 0;
  UniqueId id{};
  char text[700] = "";
};

constexpr auto weir_error_rank = static_cast<weir_result>(WEIR_ERROR_RANK);

double seconds(std::uint64_t nanoseconds) {
  return static_cast<double>(nanoseconds) * 1e-9;
}

void set_address(Member& member, const std::string& address) {
  std::snprintf(member.address, sizeof member.address, "%s", address.c_str());
}

/// Listens on `listener` for the other ranks, with the kind of address of `meeting`, and describes this rank.
Hello listen_and_describe(const Place& place, const weir_group_options& options, Member own,
                          const Socket& meeting, const std::string& met_at, Socket& listener) {
  std::string address;
  listener = listen_like(meeting, met_at, address);
  set_address(own, address);
  Hello hello;
  hello.limit = options.limit;
  hello.number = place.number;
  hello.rank = place.rank;
  hello.size = place.size;
  hello.validate = options.validate != 0;
  hello.member = own;
  return hello;
}

std::string numbered_path(const Place& place) {
  return format_text("%s.%u", place.meeting.substr(5).c_str(), place.number);
}

/// Writes the file under another name first, so that no rank reads half of it.
void write_address(const std::string& path, const std::string& address) {
  const std::string half = path + ".new";
  unlink(half.c_str());
  const int file = open(half.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0)
    sdk::fail_system(errno,
                     "cannot write %.300s, where the ranks meet (give a path that all ranks may write)",
                     half.c_str());
  const bool written = write(file, address.data(), address.size()) == static_cast<ssize_t>(address.size());
  const int error = errno;
  if (close(file) != 0 || !written || rename(half.c_str(), path.c_str()) != 0)
    sdk::fail_system(written ? errno : error,
                     "cannot write %.300s, where the ranks meet (give a path that all ranks may write)",
                     path.c_str());
}

/// The first address of an interface to a network; an IPv6 address if there is no other. A loopback address
/// without a network.
std::string own_address() {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return "127.0.0.1";
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(all, &freeifaddrs);
  for (const int family : {AF_INET, AF_INET6})
    for (const ifaddrs* one = all; one; one = one->ifa_next) {
      if (!one->ifa_addr || one->ifa_addr->sa_family != family || (one->ifa_flags & IFF_LOOPBACK) ||
          !(one->ifa_flags & IFF_UP))
        continue;
      const auto* const six = reinterpret_cast<const sockaddr_in6*>(one->ifa_addr);
      if (family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr)) continue;
      const socklen_t size = family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
      char text[NI_MAXHOST];
      if (getnameinfo(one->ifa_addr, size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) == 0) return text;
    }
  return "127.0.0.1";
}

/// Rank 0 while the others join.
class Host {
 public:
  Host(const Place& place, const weir_group_options& options) : place_(place), options_(options) {
    seats_.resize(place.size);
  }

  Table meet(Member own, const std::function<UniqueId()>& make_id) {
    const auto until = Clock::now() + std::chrono::nanoseconds(options_.limit);
    open(until);
    Table table;
    seats_[0].hello = listen_and_describe(place_, options_, own, meeting_, met_at_, table.listener);
    std::uint32_t joined = 1;
    while (joined < place_.size && wait_readable(meeting_, until))
      if (seat(until)) ++joined;
    if (joined < place_.size) refuse(weir_error_rank, missing());
    if (const std::string fault = compare(); !fault.empty()) refuse(WEIR_ERROR_INVALID, fault);
    Answer answer;
    answer.size = place_.size;
    if (getrandom(&answer.token, sizeof answer.token, 0) != sizeof answer.token)
      sdk::fail_system(errno, "no random number");
    try {
      if (*own.device) answer.id = make_id();
    } catch (const sdk::Failure& failure) {
      refuse(failure.code, "rank 0: " + failure.message);
    }
    for (const Seat& other : seats_) table.members.push_back(other.hello->member);
    name_this_machine(table.members);
    table.token = answer.token;
    table.id = answer.id;
    const auto soon = Clock::now() + 5s;
    for (Seat& other : seats_) {
      if (!other.socket) continue;
      send_all(other.socket, &answer, sizeof answer, soon);
      send_all(other.socket, table.members.data(), table.members.size() * sizeof(Member), soon);
    }
    return table;
  }

  ~Host() {
    if (!path_.empty()) unlink(path_.c_str());
  }

 private:
  struct Seat {
    std::optional<Hello> hello;
    Socket socket;
  };

  /// Ranks with a loopback address are on this machine. Gives them the address at which ranks of another
  /// machine, if there are any, have reached it.
  void name_this_machine(std::vector<Member>& members) const {
    for (const Seat& other : seats_) {
      const std::string host = other.socket ? reached_host(other.socket) : std::string();
      if (host.empty()) continue;
      for (Member& member : members) set_address(member, with_host(member.address, host));
      return;
    }
  }

  void open(Clock::time_point until) {
    const bool file = place_.meeting.starts_with("file:");
    met_at_ = file ? "tcp:" + own_address() + ":0" : place_.meeting;
    while (!(meeting_ = listen_on(met_at_))) {
      if (Clock::now() > until)
        sdk::fail(WEIR_ERROR_INVALID,
                  "%.200s, where the ranks meet, is in use by another group or program; give another address",
                  place_.meeting.c_str());
      std::this_thread::sleep_for(20ms);
    }
    if (!file) return;
    std::string address;
    meeting_ = listen_like(meeting_, met_at_, address);
    path_ = numbered_path(place_);
    write_address(path_, address);
  }

  /// Accepts one connection. True if it is of a rank that had not joined.
  bool seat(Clock::time_point until) {
    Socket socket = accept_from(meeting_);
    Hello hello;
    if (!socket || !receive_all(socket, &hello, sizeof hello, std::min(until, Clock::now() + 1s)) ||
        hello.magic != magic)
      return false;
    hello.member.address[sizeof hello.member.address - 1] = '\0';
    hello.member.device[sizeof hello.member.device - 1] = '\0';
    Answer answer;
    if (hello.number != place_.number) {
      answer.result = Answer::busy;
    } else if (hello.size != place_.size || hello.rank >= place_.size || seats_[hello.rank].hello) {
      answer.result = WEIR_ERROR_INVALID;
      std::snprintf(answer.text, sizeof answer.text,
                    hello.size != place_.size
                        ? "rank %u joins with size %u; rank 0 gave size %u. All ranks must give the same"
                        : "rank %u of %u joins a second time in the group of %u; every rank must be another",
                    hello.rank, hello.size, place_.size);
    } else {
      seats_[hello.rank].hello = hello;
      seats_[hello.rank].socket = std::move(socket);
      return true;
    }
    send_all(socket, &answer, sizeof answer, Clock::now() + 1s);
    return false;
  }

  std::string missing() const {
    std::string names;
    std::uint32_t absent = 0;
    for (std::uint32_t rank = 0; rank < place_.size; ++rank)
      if (!seats_[rank].hello && ++absent <= 10)
        names += format_text("%srank %u", absent > 1 ? ", " : "", rank);
    if (absent > 10) names += format_text(" and %u others", absent - 10);
    return format_text("no answer within %g s: %s did not join the group", seconds(options_.limit),
                       names.c_str());
  }

  /// The first difference between the ranks' options, or an empty string.
  std::string compare() const {
    const Hello& first = *seats_[0].hello;
    for (std::uint32_t rank = 1; rank < place_.size; ++rank) {
      const Hello& other = *seats_[rank].hello;
      if (other.limit != first.limit || other.validate != first.validate)
        return format_text(
            "rank %u joins with limit %g s and validate %u; rank 0 with limit %g s and validate %u. All "
            "ranks "
            "must give the same",
            rank, seconds(other.limit), other.validate, seconds(first.limit), first.validate);
      if ((*other.member.device == '\0') != (*first.member.device == '\0'))
        return format_text("rank %u joins %s a device; rank 0 %s one. All ranks must join with one, or none",
                           rank, *other.member.device ? "with" : "without",
                           *first.member.device ? "with" : "without");
      for (std::uint32_t before = 0; before < rank && *other.member.device; ++before)
        if (std::strcmp(seats_[before].hello->member.device, other.member.device) == 0)
          return format_text(
              "ranks %u and %u use the same device, %s; the vendor's library needs another device for every "
              "rank. Start fewer ranks, or let each rank open its own device",
              before, rank, other.member.device);
    }
    return {};
  }

  [[noreturn]] void refuse(weir_result result, const std::string& text) {
    Answer answer;
    answer.result = static_cast<std::uint32_t>(result);
    std::snprintf(answer.text, sizeof answer.text, "%s", text.c_str());
    for (const Seat& other : seats_)
      if (other.socket) send_all(other.socket, &answer, sizeof answer, Clock::now() + 1s);
    sdk::fail(result, "%s", text.c_str());
  }

  const Place& place_;
  const weir_group_options& options_;
  Socket meeting_;
  std::string met_at_, path_;
  std::vector<Seat> seats_;
};

/// The address of rank 0; empty if its file is not there yet.
std::string address_of_host(const Place& place) {
  if (!place.meeting.starts_with("file:")) return place.meeting;
  std::ifstream file(numbered_path(place));
  std::string address;
  std::getline(file, address);
  return address.starts_with("tcp:") ? address : "";
}

/// One attempt to join; no value if rank 0 is not there yet.
std::optional<Table> try_to_join(const Place& place, const weir_group_options& options, Member own,
                                 Clock::time_point until) {
  const std::string address = address_of_host(place);
  if (address.empty()) return std::nullopt;
  const Socket socket = connect_to(address);
  if (!socket) return std::nullopt;
  Table table;
  const Hello hello = listen_and_describe(place, options, own, socket, address, table.listener);
  Answer answer;
  // Rank 0 may have joined later, and names the missing ranks at its own limit.
  if (!send_all(socket, &hello, sizeof hello, until) ||
      !receive_all(socket, &answer, sizeof answer, until + 1s))
    return std::nullopt;
  if (answer.result == Answer::busy) return std::nullopt;
  answer.text[sizeof answer.text - 1] = '\0';
  if (answer.result != WEIR_OK) sdk::fail(static_cast<weir_result>(answer.result), "%s", answer.text);
  if (answer.size != place.size)
    sdk::fail(WEIR_ERROR_INVALID, "rank 0 answers for %u ranks; expected %u", answer.size, place.size);
  table.members.resize(answer.size);
  if (!receive_all(socket, table.members.data(), answer.size * sizeof(Member), Clock::now() + 5s))
    return std::nullopt;
  table.token = answer.token;
  table.id = answer.id;
  return table;
}

}  // namespace

Table meet(const Place& place, const weir_group_options& options, const std::string& device,
           const std::function<UniqueId()>& make_id) {
  Member own;
  if (device.size() >= sizeof own.device)
    sdk::fail(WEIR_ERROR_INVALID, "the device's name is too long: %.200s", device.c_str());
  std::snprintf(own.device, sizeof own.device, "%s", device.c_str());
  if (place.size == 1) {
    Table table;
    table.members.push_back(own);
    if (*own.device) table.id = make_id();
    return table;
  }
  if (place.rank == 0) return Host(place, options).meet(own, make_id);
  const auto until = Clock::now() + std::chrono::nanoseconds(options.limit);
  for (auto pause = 2ms; Clock::now() < until; pause = std::min(pause * 2, 50ms)) {
    if (auto table = try_to_join(place, options, own, until)) return std::move(*table);
    std::this_thread::sleep_for(pause);
  }
  sdk::fail(weir_error_rank,
            "no answer within %g s: rank 0 did not join the group (it was expected at %.200s); start all "
            "ranks, or raise JoinOptions::limit",
            seconds(options.limit), place.meeting.c_str());
}

}  // namespace weir::collectives
