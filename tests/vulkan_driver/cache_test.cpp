// SPDX-License-Identifier: Apache-2.0
// Pipelines on disk. A damaged file, or a folder that others may write, costs a compilation and nothing else.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "kernels.hpp"

namespace vulkan_test {
namespace {

using testing::HasSubstr;

void run_a_kernel(weir_device device) {
  const weir_module module = load_kernel(device, "tally");
  const weir_kernel kernel = find(module, "tally", 8);
  const weir_stream stream = new_stream(device);
  const weir_allocation memory = allocate(device, 16);
  const std::uint8_t zero = 0;
  call(table().fill, stream, memory, 0ull, 16ull, static_cast<const void*>(&zero), 1u);
  const std::uint64_t arguments[] = {address(memory)};
  const weir_launch launch = launch_of(kernel, arguments, 8, 10, 1);
  call(table().kernel_launch, stream, &launch);
  std::printf("blocks: %llu\n", static_cast<unsigned long long>(read<std::uint64_t>(stream, memory, 2)[0]));
  call(table().memory_free, memory);
  call(table().stream_destroy, stream);
  call(table().module_unload, module);
}

TEST_F(Open, DISABLED_RunsAKernel) {
  run_a_kernel(device);
}

// As most processes do: the core leaves devices open at exit.
TEST_F(Open, DISABLED_LeavesTheDeviceOpen) {
  run_a_kernel(device);
  std::fflush(stdout);
  _exit(0);
}

class Cache : public testing::Test {
 protected:
  void SetUp() override {
    folder = testing::TempDir() + "weir-vulkan-cache-" + std::to_string(getpid());
    std::filesystem::remove_all(folder);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  void run(const std::string& prefix = "") const {
    EXPECT_THAT(run_apart("WEIR_CACHE=" + folder + " " + prefix, "Open.DISABLED_RunsAKernel"),
                HasSubstr("blocks: 10\n"));
  }
  std::vector<std::filesystem::path> files() const {
    std::vector<std::filesystem::path> out;
    if (std::filesystem::exists(folder + "/vulkan"))
      for (const auto& entry : std::filesystem::directory_iterator(folder + "/vulkan"))
        if (entry.path().extension() == ".pipeline") out.push_back(entry.path());
    return out;
  }
  static std::string bytes_of(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string folder;
};

TEST_F(Cache, AFileForEachPipelineThatOnlyItsUserMayRead) {
  run();
  ASSERT_EQ(files().size(), 1u);
  struct stat info {};
  ASSERT_EQ(stat(files()[0].c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0600u);
}

TEST_F(Cache, IsWrittenWhenAPipelineIsCompiled) {
  run_apart("WEIR_CACHE=" + folder, "Open.DISABLED_LeavesTheDeviceOpen");
  EXPECT_EQ(files().size(), 1u);
}

TEST_F(Cache, TheMeasuredArithmeticIsKept) {
  run();
  for (const auto& entry : std::filesystem::directory_iterator(folder + "/vulkan"))
    if (entry.path().string().find(".arithmetic") != std::string::npos) {
      const auto written = last_write_time(entry.path());
      const std::string bits = bytes_of(entry.path());
      run();
      EXPECT_EQ(last_write_time(entry.path()), written) << "a second process measured again";
      std::ofstream(entry.path(), std::ios::binary) << bits.substr(0, bits.size() - 1) << '?';
      run();
      EXPECT_EQ(bytes_of(entry.path()), bits) << "a damaged file was used";
      return;
    }
  FAIL() << "no file with the arithmetic";
}

TEST_F(Cache, ADamagedFileIsReplaced) {
  run();
  ASSERT_EQ(files().size(), 1u);
  const std::filesystem::path path = files()[0];
  const std::string right = bytes_of(path);
  std::string wrong = right;
  wrong.back() = static_cast<char>(wrong.back() ^ 1);
  for (const std::string& bytes : {wrong, right.substr(0, right.size() / 2), std::string()}) {
    std::ofstream(path, std::ios::binary) << bytes;
    run();
    EXPECT_EQ(bytes_of(path), right);
  }
}

TEST_F(Cache, AFolderThatOthersMayWriteIsNotUsed) {
  std::filesystem::create_directories(folder + "/vulkan");
  chmod((folder + "/vulkan").c_str(), 0777);
  run();
  EXPECT_TRUE(files().empty());
}

TEST_F(Cache, NothingIsKeptWhereTheCoreKeepsNothing) {
  std::filesystem::create_directories(folder);
  chmod(folder.c_str(), 0777);
  run();
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

// A write past the limit raises SIGXFSZ, which ends the process unless it is blocked.
TEST_F(Cache, ALimitOfFileSizesCostsOnlyTheFiles) {
  run("MESA_SHADER_CACHE_DISABLE=true prlimit --fsize=16");
  EXPECT_TRUE(files().empty());
  if (std::filesystem::exists(folder + "/vulkan")) {
    EXPECT_TRUE(std::filesystem::is_empty(folder + "/vulkan")) << "a part of a file was left";
  }
  run();
  EXPECT_EQ(files().size(), 1u);
}

}  // namespace
}  // namespace vulkan_test
