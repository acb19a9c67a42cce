// SPDX-License-Identifier: Apache-2.0
// .npz files that NumPy wrote, files that Weir wrote, and damaged ones.
#include <cstdlib>
#include <weir/weir.hpp>

#include "files.hpp"

namespace weir::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Npz : public Files {
 protected:
  static HostArrays two_arrays() {
    HostArrays arrays;
    arrays["weights"] = HostArray::of<float>({2, 2}, std::vector{1.0f, 2.0f, 3.0f, 4.0f});
    arrays["zeros"] = HostArray::of<std::uint8_t>({5000}, std::vector<std::uint8_t>(5000));
    return arrays;
  }
  static std::string message(const std::filesystem::path& path) {
    return refused(ErrorCode::parse, path, [&] { read_npz(path); });
  }
};

TEST_F(Npz, StoredAndDeflatedArchivesOfNumPyAreRead) {
  const HostArrays stored = read_npz(fixture("stored.npz"));
  ASSERT_EQ(stored.size(), 2u);
  EXPECT_THAT(vector_of<float>(stored.at("weights")), ElementsAre(0, 1, 2, 100, 101, 102));
  EXPECT_THAT(vector_of<std::int16_t>(stored.at("bias")), ElementsAre(0, 1, 2, 3, 4));
  const HostArrays deflated = read_npz(fixture("deflated.npz"));
  EXPECT_THAT(vector_of<float>(deflated.at("weights")), ElementsAre(0, 1, 2, 100, 101, 102));
  EXPECT_EQ(vector_of<std::uint8_t>(deflated.at("zeros")), std::vector<std::uint8_t>(5000));
}

TEST_F(Npz, WrittenArchivesAreReadAgain) {
  for (const Compression compression : {Compression::none, Compression::deflate}) {
    write_npz(folder / "x.npz", two_arrays(), compression);
    const HostArrays again = read_npz(folder / "x.npz");
    ASSERT_EQ(again.size(), 2u);
    EXPECT_EQ(again.at("weights").shape, two_arrays().at("weights").shape);
    EXPECT_EQ(again.at("weights").data, two_arrays().at("weights").data);
    EXPECT_EQ(again.at("zeros").data, two_arrays().at("zeros").data);
    EXPECT_EQ(std::filesystem::file_size(folder / "x.npz") < 5000, compression == Compression::deflate);
  }
  write_npz(folder / "none.npz", {});
  EXPECT_TRUE(read_npz(folder / "none.npz").empty());
}

#ifdef WEIR_PYTHON
// Python's zipfile is the library that NumPy reads archives with.
TEST_F(Npz, PythonReadsWrittenArchives) {
  for (const Compression compression : {Compression::none, Compression::deflate}) {
    write_npz(folder / "x.npz", two_arrays(), compression);
    const std::string command =
        "'" WEIR_PYTHON
        "' -c \"import zipfile, sys; z = zipfile.ZipFile(sys.argv[1]); assert z.testzip() is None; "
        "assert z.namelist() == ['weights.npy', 'zeros.npy']; assert len(z.read('zeros.npy')) == 5128\" '" +
        (folder / "x.npz").string() + "'";
    EXPECT_EQ(std::system(command.c_str()), 0);
  }
}
#endif

// proves R35
TEST_F(Npz, DamagedArchivesAreRefusedWithTheReason) {
  EXPECT_THAT(message(fixture("f4.npy")), HasSubstr("it is not an .npz file"));
  EXPECT_THAT(message(written("empty.npz", "")), HasSubstr("it is not an .npz file"));
  std::string bytes = bytes_of(fixture("stored.npz"));
  std::string bad = bytes;
  bad[bytes.find("\x93NUMPY") + 140] ^= 1;  // a number of the first array, after 128 bytes of header
  EXPECT_THAT(message(written("sum.npz", bad)),
              HasSubstr("member 'weights.npy' are damaged: the checksum differs"));
  bad = bytes;
  bad[bytes.rfind("weights")] ^= 1;  // in the directory, which has no checksum
  EXPECT_THAT(message(written("name.npz", bad)),
              HasSubstr("member 'veights.npy' has another name in its own header"));
  bad = bytes;
  bad.erase(100, 50);
  message(written("hole.npz", bad));
}

// proves R35
TEST_F(Npz, NoDamagedByteDoesMoreThanThrow) {
  for (const char* name : {"stored.npz", "deflated.npz"})
    damage(
        bytes_of(fixture(name)), "x.npz", [](const auto& path) { read_npz(path); }, 3);
  write_npz(folder / "own.npz", two_arrays(), Compression::deflate);
  damage(
      bytes_of(folder / "own.npz"), "x.npz", [](const auto& path) { read_npz(path); }, 3);
}

TEST_F(Npz, ArraysNeedNames) {
  HostArrays arrays;
  arrays[""] = HostArray::of<float>({1}, std::vector{1.0f});
  EXPECT_THAT(refused(ErrorCode::invalid, folder / "x.npz", [&] { write_npz(folder / "x.npz", arrays); }),
              HasSubstr("expected names of 1 to 1000 bytes"));
}

}  // namespace
}  // namespace weir::test
