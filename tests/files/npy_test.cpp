// SPDX-License-Identifier: Apache-2.0
// .npy files that NumPy wrote, files that Weir wrote, and damaged ones.
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <weir/weir.hpp>

#include "files.hpp"

namespace weir::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Type {
  const char* name;
  ScalarType type;
};

class EachType : public Files, public testing::WithParamInterface<Type> {};

/// A scalar of the array as a double.
double number_at(const HostArray& array, std::size_t i) {
  const auto get = [&]<class T>(T) {
    T value;
    std::memcpy(&value, array.data.data() + i * sizeof value, sizeof value);
    return static_cast<double>(value);
  };
  switch (array.type) {
    case ScalarType::boolean:
    case ScalarType::u8:
      return get(std::uint8_t());
    case ScalarType::i8:
      return get(std::int8_t());
    case ScalarType::i16:
      return get(std::int16_t());
    case ScalarType::i32:
      return get(std::int32_t());
    case ScalarType::i64:
      return get(std::int64_t());
    case ScalarType::u16:
      return get(std::uint16_t());
    case ScalarType::u32:
      return get(std::uint32_t());
    case ScalarType::u64:
      return get(std::uint64_t());
    case ScalarType::f16: {
      half value;
      std::memcpy(&value, array.data.data() + i * 2, 2);
      return static_cast<double>(static_cast<float>(value));
    }
    case ScalarType::f32:
      return get(0.0f);
    case ScalarType::f64:
      return get(0.0);
  }
  return -1;
}

TEST_P(EachType, IsReadInBothOrdersOfBytesAndOfIndices) {
  for (const char* kind : {"", "-fortran", "-big"}) {
    SCOPED_TRACE(kind);
    const HostArray array = read_npy(fixture(GetParam().name + std::string(kind) + ".npy"));
    EXPECT_EQ(array.type, GetParam().type);
    EXPECT_THAT(array.shape, ElementsAre(2, 3));
    ASSERT_EQ(array.size(), 6u);
    const double numbers[] = {0, 1, 2, 100, 101, 102};
    for (std::size_t i = 0; i < 6; ++i)
      EXPECT_EQ(number_at(array, i),
                GetParam().type == ScalarType::boolean ? static_cast<int>(numbers[i]) % 2 : numbers[i])
          << i;
  }
}

TEST_P(EachType, IsWrittenAsNumPyWritesIt) {
  const std::string name = GetParam().name + std::string(".npy");
  const HostArray array = read_npy(fixture(name));
  write_npy(folder / name, array);
  const HostArray again = read_npy(folder / name);
  EXPECT_EQ(again.type, array.type);
  EXPECT_EQ(again.shape, array.shape);
  EXPECT_EQ(again.data, array.data);
  const std::string ours = bytes_of(folder / name), theirs = bytes_of(fixture(name));
  EXPECT_EQ(ours.substr(0, 24), theirs.substr(0, 24)) << "magic, version, length, type";
  EXPECT_EQ(ours.size(), theirs.size());
}

INSTANTIATE_TEST_SUITE_P(Npy, EachType,
                         testing::Values(Type{"b1", ScalarType::boolean}, Type{"i1", ScalarType::i8},
                                         Type{"i2", ScalarType::i16}, Type{"i4", ScalarType::i32},
                                         Type{"i8", ScalarType::i64}, Type{"u1", ScalarType::u8},
                                         Type{"u2", ScalarType::u16}, Type{"u4", ScalarType::u32},
                                         Type{"u8", ScalarType::u64}, Type{"f2", ScalarType::f16},
                                         Type{"f4", ScalarType::f32}, Type{"f8", ScalarType::f64}),
                         [](const auto& info) { return std::string(info.param.name); });

class Npy : public Files {};

TEST_F(Npy, FortranOrderOfThreeDimensionsBecomesRowMajor) {
  const HostArray array = read_npy(fixture("three.npy"));
  EXPECT_THAT(array.shape, ElementsAre(2, 3, 4));
  std::vector<std::int32_t> expected(24);
  for (int i = 0; i < 24; ++i) expected[static_cast<std::size_t>(i)] = i;
  EXPECT_EQ(vector_of<std::int32_t>(array), expected);
}

TEST_F(Npy, EachVersionOfTheFormatIsRead) {
  for (const char* version : {"1", "2", "3"})
    EXPECT_THAT(vector_of<double>(read_npy(fixture(std::string("version-") + version + ".npy"))),
                ElementsAre(0, 1, 2, 100, 101, 102));
}

TEST_F(Npy, ANumberHasNoDimensionsAndAnEmptyArrayNoData) {
  EXPECT_TRUE(read_npy(fixture("number.npy")).shape.empty());
  EXPECT_THAT(vector_of<float>(read_npy(fixture("number.npy"))), ElementsAre(2.5f));
  EXPECT_THAT(read_npy(fixture("empty.npy")).shape, ElementsAre(0, 3));
  EXPECT_EQ(read_npy(fixture("empty.npy")).size(), 0u);
}

TEST_F(Npy, EveryByteButZeroIsTrue) {
  std::string bytes = bytes_of(fixture("b1.npy"));
  bytes[bytes.size() - 1] = 2;
  bytes[bytes.size() - 2] = '\xff';
  const auto file = written("bools.npy", bytes);
  const HostArray whole = read_npy(file);
  const HostArray rows = NpyFile(file).read_rows(0, whole.shape[0]);
  for (const HostArray* array : {&whole, &rows})
    for (std::size_t k = 1; k <= 2; ++k) EXPECT_EQ(array->data[array->data.size() - k], std::byte{1});
}

// proves R35
TEST_F(Npy, UnsupportedFilesAreRefusedWithTheReason) {
  const auto message = [](const std::string& name) {
    return refused(ErrorCode::parse, fixture(name), [&] { read_npy(fixture(name)); });
  };
  EXPECT_THAT(message("records.npy"), HasSubstr("holds records; expected plain numbers"));
  EXPECT_THAT(message("complex.npy"), HasSubstr("unknown type '<c8'; expected booleans, integers"));
  EXPECT_THAT(message("stored.npz"), HasSubstr("not an .npy file of version 1.0 to 3.0"));
  const std::filesystem::path absent = folder / "absent.npy";
  EXPECT_THAT(refused(ErrorCode::system, absent, [&] { read_npy(absent); }),
              HasSubstr("cannot read the file: No such file or directory; expected an existing .npy file"));
  EXPECT_THAT(refused(ErrorCode::system, folder, [&] { read_npy(folder); }), HasSubstr("not a regular file"));
}

// proves R35
TEST_F(Npy, DamagedHeadersAreRefusedWithTheExpectationAndTheFinding) {
  const auto message = [&](const std::string& from, const std::string& to) {
    std::string bytes = bytes_of(fixture("f4.npy"));
    bytes.replace(bytes.find(from), from.size(), to);
    const std::filesystem::path path = written("damaged.npy", bytes);
    return refused(ErrorCode::parse, path, [&] { read_npy(path); });
  };
  EXPECT_THAT(message("(2, 3)", "(2, 4)"), HasSubstr("the shape (2, 4) needs 32 bytes of data, found 24"));
  EXPECT_THAT(message("(2, 3)", "(2,-3)"),
              HasSubstr("expected extents of at least 0 and below 2^63 in the .npy "
                        "header's shape, found '-3), }"));
  EXPECT_THAT(message("(2, 3), }", "(2, 3, }x"), HasSubstr("expected extents"));
  EXPECT_THAT(message("(2, 3)", "(2 3)"),
              HasSubstr("expected ')' or ',' after an extent of the shape in the .npy "
                        "header, found '3), }"));
  EXPECT_THAT(message("(2, 3)", "(2,,3)"), HasSubstr("expected extents"));
  EXPECT_THAT(message("(2, 3), }", "(2, 3)x}"), HasSubstr("expected '}' or ',' after a value"));
  EXPECT_THAT(message("(2, 3), }", "(2, 3)}x"),
              HasSubstr("expected the end of the .npy header after '}', found 'x"));
  EXPECT_THAT(message("'descr'", "'desxr'"),
              HasSubstr("unknown key 'desxr'; expected 'descr', 'fortran_order'"));
  EXPECT_THAT(message("'descr': '<f4', ", std::string(16, ' ')), HasSubstr("no key 'descr'"));
  EXPECT_THAT(message("'descr': '<f4', ", "'descr': '<f4', 'descr': '>f4', "),
              HasSubstr("the key 'descr' twice"));
  EXPECT_THAT(message("False", "Maybe"), HasSubstr("expected True or False"));
  EXPECT_THAT(message("'<f4'", "'<f7'"), HasSubstr("unknown type '<f7'"));
  EXPECT_THAT(message("'<f4'", "'\x1b\x7f\n'"), HasSubstr("unknown type '?"
                                                          "?"
                                                          "?'"));
  EXPECT_THAT(message("(2, 3)", "(4611686018427387904, 4611686018427387904)"), HasSubstr("more than 2^63"));
}

TEST_F(Npy, HeadersOfOtherWritersAreRead) {
  const std::vector<float> values = vector_of<float>(read_npy(fixture("f4.npy")));
  const auto read = [&](const std::string& header) {
    std::string bytes("\x93NUMPY\x01\0", 8);
    bytes += {static_cast<char>(header.size()), '\0'};
    bytes += header;
    bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
    return read_npy(written("other.npy", bytes));
  };
  for (const char* header : {R"({"descr": "<f4", "fortran_order": False, "shape": (2, 3)})",
                             "{'shape': (2L, 3L), u'descr': u'<f4', 'fortran_order': False, }",
                             "{\t'descr':\t'f4',\n 'fortran_order' :False,\n 'shape': (\n2,\n3,\n)\n}\n"}) {
    SCOPED_TRACE(header);
    const HostArray array = read(header);
    EXPECT_THAT(array.shape, ElementsAre(2, 3));
    EXPECT_EQ(vector_of<float>(array), values);
  }
}

// proves R35
TEST_F(Npy, NoDamagedByteDoesMoreThanThrow) {
  damage(
      bytes_of(fixture("f4-fortran.npy")), "x.npy", [](const auto& path) { read_npy(path); }, 1);
}

TEST_F(Npy, AFileThatCannotBeWrittenKeepsTheOneBefore) {
  const HostArray array = HostArray::of<float>({2}, std::vector{1.0f, 2.0f});
  const std::filesystem::path path = folder / "none/x.npy";
  EXPECT_THAT(refused(ErrorCode::system, path, [&] { write_npy(path, array); }),
              HasSubstr("cannot write the file: No such file or directory; choose"));
  HostArray wrong = array;
  wrong.shape = {3};
  write_npy(folder / "x.npy", array);
  EXPECT_THAT(refused(ErrorCode::invalid, folder / "x.npy", [&] { write_npy(folder / "x.npy", wrong); }),
              HasSubstr("the shape (3) has 8 bytes, which do not fit"));
  EXPECT_THAT(vector_of<float>(read_npy(folder / "x.npy")), ElementsAre(1, 2));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator()),
            1);
}

TEST_F(Npy, AFileKeepsItsPermissions) {
  using std::filesystem::perms;
  const HostArray array = HostArray::of<float>({2}, std::vector{1.0f, 2.0f});
  const std::filesystem::path path = folder / "private.npy";
  write_npy(path, array);
  for (const perms mode :
       {perms::owner_read | perms::owner_write, perms::owner_read | perms::owner_write | perms::group_read}) {
    std::filesystem::permissions(path, mode);
    write_npy(path, array);
    EXPECT_EQ(std::filesystem::status(path).permissions(), mode);
  }
}

TEST_F(Npy, AnArrayOfMoreDimensionsThanNumPyHasIsRefused) {
  const std::vector<std::int64_t> shape(65, 1);
  EXPECT_THAT(refused(ErrorCode::invalid, folder / "x.npy",
                      [&] { NpyFile::create(folder / "x.npy", ScalarType::f32, shape); }),
              HasSubstr("expected at most 64 extents, as NumPy does, found 65"));
  EXPECT_THAT(refused(ErrorCode::invalid, folder / "x.npy",
                      [&] { NpyFile::create(folder / "x.npy", static_cast<ScalarType>(50), {1}); }),
              HasSubstr("the scalar type 50"));
}

TEST_F(Npy, AFileThatBecameShorterSaysSo) {
  const std::filesystem::path path = folder / "x.npy";
  write_npy(path, HostArray::of<float>({2}, std::vector{1.0f, 2.0f}));
  const NpyFile file(path);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  EXPECT_THAT(refused(ErrorCode::system, path, [&] { file.read_rows(0, 2); }),
              HasSubstr("it has become shorter since it was opened"));
}

TEST_F(Npy, LinksAndDevicesAreWrittenAndNotReplaced) {
  const HostArray array = HostArray::of<float>({2}, std::vector{1.0f, 2.0f});
  write_npy(folder / "x.npy", HostArray::of<float>({1}, std::vector{5.0f}));
  std::filesystem::create_symlink(folder / "x.npy", folder / "link.npy");
  write_npy(folder / "link.npy", array);
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link.npy"));
  EXPECT_THAT(vector_of<float>(read_npy(folder / "x.npy")), ElementsAre(1, 2));
  std::filesystem::create_symlink("/dev/full", folder / "full.npy");
  EXPECT_THAT(refused(ErrorCode::system, folder / "full.npy", [&] { write_npy(folder / "full.npy", array); }),
              HasSubstr("No space left on device"));
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

TEST_F(Npy, ArraysGoToADeviceAndBack) {
  const Device device = open("cpu");
  const StreamRef stream = device.default_stream();
  const Array<float, 2> matrix = to_device<float, 2>(stream, read_npy(fixture("f4-fortran.npy")));
  EXPECT_EQ(matrix.extent(1), 3);
  EXPECT_THAT(matrix.to_host(stream), ElementsAre(0, 1, 2, 100, 101, 102));
  const auto vectors = to_device<Vec<float, 3>>(stream, read_npy(fixture("f4.npy")));
  EXPECT_EQ(vectors.size(), 2u);
  const HostArray back = to_host(stream, vectors);
  EXPECT_THAT(back.shape, ElementsAre(2, 3));
  EXPECT_THAT(vector_of<float>(back), ElementsAre(0, 1, 2, 100, 101, 102));
  const float one[] = {2.5f};
  const auto number =
      to_device<float, 0>(stream, HostArray::from_bytes(ScalarType::f32, {}, std::as_bytes(std::span(one))));
  EXPECT_EQ(number.value(stream), 2.5f);
  EXPECT_TRUE(to_host(stream, number).shape.empty());
  try {
    to_device<double, 2>(stream, back);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid);
    EXPECT_THAT(
        error.what(),
        HasSubstr("an array of f32 with the shape (2, 3) and 24 bytes does not fit 2 dimensions of f64"));
  }
}

TEST_F(Npy, ValuesOfAnotherTypeAreRefused) {
  const HostArray array = HostArray::of<float>({1}, std::vector{1.0f});
  EXPECT_THROW(array.values<double>(), Error);
  EXPECT_THROW(HostArray::of<float>({2}, std::vector{1.0f}), Error);
  EXPECT_THROW(HostArray::of<float>({-1}, std::vector{1.0f}), Error);
}

TEST_F(Npy, RowsAreReadInPlaceAsTheWholeFileIs) {
  for (const char* name : {"f4", "f4-big", "i8-big", "version-2", "version-3", "empty"}) {
    SCOPED_TRACE(name);
    const HostArray whole = read_npy(fixture(std::string(name) + ".npy"));
    const NpyFile file(fixture(std::string(name) + ".npy"));
    EXPECT_EQ(file.type(), whole.type);
    EXPECT_EQ(file.shape(), whole.shape);
    const std::int64_t rows = whole.shape[0];
    std::vector<std::byte> joined;
    for (std::int64_t row = 0; row < rows; ++row) {
      const HostArray part = file.read_rows(row, row + 1);
      EXPECT_THAT(part.shape, ElementsAre(1, 3));
      joined.insert(joined.end(), part.data.begin(), part.data.end());
    }
    EXPECT_EQ(joined, whole.data);
    EXPECT_EQ(file.read_rows(rows, rows).size(), 0u);
  }
}

TEST_F(Npy, RowsAreWrittenInPlace) {
  const std::filesystem::path path = folder / "rows.npy";
  const NpyFile file = NpyFile::create(path, ScalarType::i32, {4, 2});
  file.write_rows(1, HostArray::of<std::int32_t>({2, 2}, std::vector<std::int32_t>{1, 2, 3, 4}));
  NpyFile(path, NpyFile::Access::read_write)
      .write_rows(3, HostArray::of<std::int32_t>({1, 2}, std::vector<std::int32_t>{5, 6}));
  EXPECT_THAT(vector_of<std::int32_t>(read_npy(path)), ElementsAre(0, 0, 1, 2, 3, 4, 5, 6));
  write_npy(folder / "whole.npy", read_npy(path));
  EXPECT_EQ(bytes_of(path), bytes_of(folder / "whole.npy"));
}

TEST_F(Npy, BoxesAreReadAndWrittenInPlace) {
  const std::filesystem::path path = folder / "boxes.npy";
  std::vector<std::int32_t> values(3 * 4 * 5);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int32_t>(i);
  const NpyFile file = NpyFile::create(path, ScalarType::i32, {3, 4, 5});
  using Box = std::array<std::int64_t, 3>;
  // Both halves of each dimension, so eight boxes.
  for (int corner = 0; corner < 8; ++corner) {
    Box begin{}, end{};
    for (std::size_t d = 0; d < 3; ++d) {
      const std::int64_t extent = file.shape()[d], middle = extent / 2;
      begin[d] = corner >> d & 1 ? middle : 0;
      end[d] = corner >> d & 1 ? extent : middle;
    }
    std::vector<std::int32_t> part;
    for (std::int64_t i = begin[0]; i < end[0]; ++i)
      for (std::int64_t j = begin[1]; j < end[1]; ++j)
        for (std::int64_t k = begin[2]; k < end[2]; ++k)
          part.push_back(values[static_cast<std::size_t>((i * 4 + j) * 5 + k)]);
    const HostArray box =
        HostArray::of<std::int32_t>({end[0] - begin[0], end[1] - begin[1], end[2] - begin[2]}, part);
    file.write_box(begin, box);
    EXPECT_EQ(file.read_box(begin, end).data, box.data);
  }
  EXPECT_EQ(vector_of<std::int32_t>(read_npy(path)), values);
  const std::array<std::int64_t, 2> begin{1, 2}, end{3, 4};  // all of the last dimension
  EXPECT_THAT(file.read_box(begin, end).shape, ElementsAre(2, 2, 5));
  EXPECT_EQ(vector_of<std::int32_t>(file.read_box(begin, end))[10], (2 * 4 + 2) * 5);
  EXPECT_EQ(file.read_box({}, {}).data, read_npy(path).data);
  EXPECT_EQ(file.read_box(begin, begin).size(), 0u);
}

// proves R35
TEST_F(Npy, BoxesThatDoNotFitTheFileAreRefused) {
  const std::filesystem::path path = folder / "boxes.npy";
  const NpyFile file = NpyFile::create(path, ScalarType::i32, {4, 2});
  const std::array<std::int64_t, 2> begin{1, 1}, end{2, 3};
  const std::array<std::int64_t, 3> more{};
  EXPECT_THAT(refused(ErrorCode::invalid, path, [&] { file.read_box(begin, end); }),
              HasSubstr("indices along dimension 1 from 1 to 3 are outside the file's 2"));
  EXPECT_THAT(refused(ErrorCode::invalid, path, [&] { file.read_box(more, more); }),
              HasSubstr("a box begins at 3 indices and ends at 3; expected as many, at most one for each of "
                        "the file's 2 dimensions"));
  const auto box = HostArray::of<std::int32_t>({1, 2}, std::vector<std::int32_t>{1, 2});
  EXPECT_THAT(refused(ErrorCode::invalid, path, [&] { file.write_box(begin, box); }),
              HasSubstr("indices along dimension 1 from 1 to 3 are outside the file's 2"));
  const auto cube = HostArray::of<std::int32_t>({1, 1, 2}, std::vector<std::int32_t>{1, 2});
  EXPECT_THAT(
      refused(ErrorCode::invalid, path, [&] { file.write_box(begin, cube); }),
      HasSubstr("elements of i32 with the shape (1, 1, 2) are written to a file of i32 with the shape "
                "(4, 2); all but the leading 2 extents must be equal"));
}

// proves R35
TEST_F(Npy, RowsThatDoNotFitTheFileAreRefused) {
  const std::filesystem::path path = folder / "rows.npy";
  const NpyFile file = NpyFile::create(path, ScalarType::i32, {4, 2});
  const auto rows = HostArray::of<std::int32_t>({2, 2}, std::vector<std::int32_t>{1, 2, 3, 4});
  EXPECT_THAT(refused(ErrorCode::invalid, path, [&] { file.read_rows(3, 5); }),
              HasSubstr("rows 3 to 5 are outside the file's 4"));
  EXPECT_THAT(refused(ErrorCode::invalid, path, [&] { file.write_rows(-1, rows); }),
              HasSubstr("rows -1 to 1 are outside"));
  EXPECT_THAT(refused(ErrorCode::invalid, path, [&] { file.write_rows(3, rows); }), HasSubstr("rows 3 to 5"));
  const auto others = HostArray::of<float>({2, 2}, std::vector<float>{1, 2, 3, 4});
  EXPECT_THAT(
      refused(ErrorCode::invalid, path, [&] { file.write_rows(0, others); }),
      HasSubstr("rows of f32 with the shape (2, 2) are written to a file of i32 with the shape (4, 2)"));
  EXPECT_THAT(refused(ErrorCode::invalid, path, [&] { NpyFile(path).write_rows(0, rows); }),
              HasSubstr("opened for reading; open it with NpyFile::Access::read_write"));
  EXPECT_THAT(refused(ErrorCode::invalid, path, [&] { file.write_rows(INT64_MAX, rows); }),
              HasSubstr("rows 9223372036854775807 to 9223372036854775807 are outside the file's 4"));
  const auto message = [](ErrorCode code, const std::string& name) {
    return refused(code, fixture(name), [&] { NpyFile{fixture(name)}; });
  };
  EXPECT_THAT(message(ErrorCode::unsupported, "f4-fortran.npy"), HasSubstr("numpy.ascontiguousarray()"));
  EXPECT_THAT(message(ErrorCode::unsupported, "number.npy"), HasSubstr("has no rows"));
  EXPECT_THAT(message(ErrorCode::system, "none.npy"), HasSubstr("expected an existing .npy file"));
  EXPECT_THAT(refused(ErrorCode::invalid, path, [&] { NpyFile::create(path, ScalarType::u8, {}); }),
              HasSubstr("the shape () has no rows"));
  EXPECT_THAT(refused(ErrorCode::invalid, path,
                      [&] {
                        NpyFile::create(path, ScalarType::u8, {4, -3});
                      }),
              HasSubstr("the shape (4, -3): expected extents of at least 0, found -3 as extent 1"));
  EXPECT_THAT(refused(ErrorCode::invalid, path,
                      [&] {
                        NpyFile::create(path, ScalarType::f64, {1LL << 60, 1});
                      }),
              HasSubstr("expected less than 2^63 bytes"));
  const std::filesystem::path absent = folder / "none/x.npy";
  EXPECT_THAT(refused(ErrorCode::system, absent, [&] { NpyFile::create(absent, ScalarType::u8, {1}); }),
              HasSubstr("cannot create the file"));
}

TEST_F(Npy, AWriteThatTheSystemRefusesNamesTheFile) {
  const std::filesystem::path path = folder / "limited.npy";
  const NpyFile file = NpyFile::create(path, ScalarType::u8, {1000});
  const auto rows = HostArray::of<std::uint8_t>({1000}, std::vector<std::uint8_t>(1000));
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit low{500, limit.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &low), 0);
  const std::string message = refused(ErrorCode::system, path, [&] { file.write_rows(0, rows); });
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(message, HasSubstr("cannot write the file: File too large"));
}

TEST_F(Npy, AFileThatWasMovedFromIsRefused) {
  NpyFile file = NpyFile::create(folder / "moved.npy", ScalarType::i32, {4});
  const NpyFile moved = std::move(file);
  const auto number = HostArray::of<std::int32_t>({}, std::vector<std::int32_t>{1});
  for (const std::function<void()>& use : {std::function<void()>([&] { file.read_rows(0, 1); }),
                                           std::function<void()>([&] { file.read_box({}, {}); }),
                                           std::function<void()>([&] { file.write_box({}, number); })})
    EXPECT_THAT(refused(ErrorCode::invalid, "NpyFile", use), HasSubstr("was moved from"));
  EXPECT_EQ(moved.read_rows(0, 4).size(), 4u);
}

// proves R35
TEST_F(Npy, NoDamagedByteOfAFileOfRowsDoesMoreThanThrow) {
  const std::string good = bytes_of(fixture("f4.npy"));
  for (std::size_t at = 0; at < good.size(); ++at)
    for (const std::string& bad : {good.substr(0, at), good.substr(0, at) + '\x7f' + good.substr(at + 1)})
      try {
        const NpyFile file(written("damaged.npy", bad));
        file.read_rows(0, file.shape()[0]);
      } catch (const Error& error) {
        EXPECT_NE(error.code(), ErrorCode::out_of_memory) << error.what();
      }
}

}  // namespace
}  // namespace weir::test
