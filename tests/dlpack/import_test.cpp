// SPDX-License-Identifier: Apache-2.0
// Imported tensors on devices that use host memory directly, with a fake producer.
#include "support.hpp"

namespace weir::test {
namespace {

using dlpack::Copy;
using dlpack::from_tensor;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

class DlpackImport : public testing::Test {
 protected:
  void SetUp() override {
    if (!on_cpu()) GTEST_SKIP() << "the device does not use ordinary host memory";
  }
  Stream stream = tested().create_stream();
};

const Kernel<void(View<float>)>& doubling() {
  static const Kernel kernel{
      "doubling", [](View<float> x) { range_for(x.size(), [&](Index i) { x[i] = x[i] * 2.0f; }); }};
  return kernel;
}

TEST_F(DlpackImport, BorrowsTheMemory) {
  Producer<float> producer({1000});
  {
    const auto x = from_tensor<float>(stream, producer.managed());
    EXPECT_EQ(x.device_address(), reinterpret_cast<std::uint64_t>(producer.values.data()));
    EXPECT_EQ(x.extent(0), 1000);
    doubling()(stream, x);
    stream.synchronize();
    EXPECT_EQ(producer.values[999], 2000.0f);
    EXPECT_EQ(producer.deleted, 0);
  }
  EXPECT_EQ(producer.deleted, 1);
}

TEST_F(DlpackImport, TakesVersionedTensors) {
  Producer<std::int16_t> producer({4, 5, 6});
  {
    const auto x = from_tensor<std::int16_t, 3>(stream, producer.versioned());
    EXPECT_EQ(x.to_host(stream), producer.values);
    EXPECT_EQ(x.extent(2), 6);
  }
  EXPECT_EQ(producer.deleted, 1);
}

TEST_F(DlpackImport, AppliesTheByteOffset) {
  Producer<double> producer({4});
  producer.tensor.byte_offset = 16;
  producer.shape[0] = 2;
  const auto x = from_tensor<double>(stream, producer.managed());
  EXPECT_EQ(x.to_host(stream), (std::vector<double>{3, 4}));
}

TEST_F(DlpackImport, TakesEveryScalarType) {
  const auto check = [&]<class T>(T) {
    Producer<T> producer({3});
    const auto x = from_tensor<T>(stream, producer.managed());
    EXPECT_EQ(x.size(), 3u);
    EXPECT_EQ(static_cast<const T*>(reinterpret_cast<void*>(x.device_address()))[2], producer.values[2]);
  };
  check(std::int8_t()), check(std::int16_t()), check(std::int32_t()), check(std::int64_t());
  check(std::uint8_t()), check(std::uint16_t()), check(std::uint32_t()), check(std::uint64_t());
  check(float()), check(double());
  Producer<std::uint16_t> halves({3});
  halves.tensor.type.code = dlpack::floating;
  EXPECT_EQ(from_tensor<half>(stream, halves.managed()).size(), 3u);
  Producer<std::uint8_t> bools({3});
  bools.tensor.type.code = dlpack::boolean;
  EXPECT_EQ(from_tensor<bool>(stream, bools.managed()).size(), 3u);
}

TEST_F(DlpackImport, DimensionsAtTheEndAreComponents) {
  Producer<float> vectors({5, 3});
  const auto v = from_tensor<Vec<float, 3>>(stream, vectors.managed());
  EXPECT_EQ(v.to_host(stream)[4], (Vec<float, 3>{13, 14, 15}));
  Producer<float> matrices({2, 2, 3});
  const auto m = from_tensor<Mat<float, 2, 3>>(stream, matrices.managed());
  EXPECT_EQ(m.to_host(stream)[1](1, 2), 12.0f);
  Producer<float> one({2, 2});
  const auto scalar = from_tensor<Mat<float, 2, 2>, 0>(stream, one.managed());
  EXPECT_EQ(scalar.value(stream)(1, 0), 3.0f);
}

TEST_F(DlpackImport, LanesAreComponents) {
  Producer<float> producer({12});
  producer.shape[0] = 3;
  producer.tensor.type.lanes = 4;
  const auto v = from_tensor<Vec<float, 4>>(stream, producer.managed());
  EXPECT_EQ(v.to_host(stream)[2], (Vec<float, 4>{9, 10, 11, 12}));
}

TEST_F(DlpackImport, StridesOfContiguousElementsAreTakenDirectly) {
  Producer<float> producer({2, 1, 3}, {3, 77, 1});  // the stride of an extent of 1 does not matter
  const auto x = from_tensor<float, 3>(stream, producer.managed());
  EXPECT_EQ(x.device_address(), reinterpret_cast<std::uint64_t>(producer.values.data()));
}

TEST_F(DlpackImport, EmptyTensorsHaveNoMemory) {
  Producer<float> producer({0, 3}, {99, 98});
  producer.tensor.data = nullptr;
  const auto x = from_tensor<float, 2>(stream, producer.managed());
  EXPECT_EQ(x.extent(1), 3);
  EXPECT_TRUE(x.empty());
  EXPECT_EQ(producer.deleted, 1);
}

TEST_F(DlpackImport, EmptyTensorsMayHaveOtherExtentsOfAnySize) {
  constexpr std::int64_t huge = std::int64_t{1} << 62;
  Producer<float> producer({0});
  for (const std::array<std::int64_t, 3>& shape :
       {std::array{huge, huge, std::int64_t{0}}, std::array{std::int64_t{0}, huge, huge}}) {
    std::array<std::int64_t, 3> extents = shape, strides{huge, huge, huge};
    producer.tensor.dimensions = 3;
    producer.tensor.shape = extents.data();
    producer.tensor.strides = strides.data();
    const auto x = from_tensor<float, 3>(stream, producer.managed());
    EXPECT_EQ(x.extent(1), huge);
    EXPECT_TRUE(x.empty());
  }
  EXPECT_EQ(producer.deleted, 2);
}

TEST_F(DlpackImport, ADeleterMayBeNull) {
  Producer<float> producer({3});
  DLManagedTensor* const tensor = producer.managed();
  fields(tensor).deleter = nullptr;
  EXPECT_EQ(from_tensor<float>(stream, tensor).to_host(stream), producer.values);
}

// proves R6
TEST_F(DlpackImport, TheDeleterRunsAfterTheLastUse) {
  Producer<std::uint32_t> producer({1000});
  const Stream other = tested().create_stream();
  auto x = from_tensor<std::uint32_t>(stream, producer.managed());
  {
    Held held(other);
    x.fill(other, 5u);
    x = {};
    tested().array<float>(100);  // collects what is done
    EXPECT_EQ(producer.deleted, 0);
    stream.synchronize();
    EXPECT_EQ(producer.deleted, 0);
  }
  other.synchronize();
  EXPECT_EQ(producer.deleted, 1);
  EXPECT_THAT(producer.values, Each(5u));
}

// proves R6
TEST_F(DlpackImport, StreamsMayEndFirst) {
  Producer<std::uint32_t> producer({1000});
  Array<std::uint32_t> x;
  std::unique_ptr<Held> held;
  {
    const Stream home = tested().create_stream(), user = tested().create_stream();
    x = from_tensor<std::uint32_t>(home, producer.managed());
    held = std::make_unique<Held>(user);
    x.fill(user, 8u);
  }
  x = {};
  EXPECT_EQ(producer.deleted, 0);
  held->release();
  tested().synchronize();
  EXPECT_EQ(producer.deleted, 1);
  EXPECT_THAT(producer.values, Each(8u));
}

// What precedes the import in its stream may be a wait that another library submitted for its own work.
TEST_F(DlpackImport, OtherStreamsWaitForTheImportingStream) {
  Producer<std::uint32_t> producer({1000});
  const Stream other = tested().create_stream();
  std::vector<std::uint32_t> seen(1000);
  Held held(stream);
  stream.call_host(
      [&] { std::fill(producer.values.begin(), producer.values.end(), 3u); });  // the producer's work
  const auto x = from_tensor<std::uint32_t>(stream, producer.managed());
  x.copy_to_async(other, seen);
  EXPECT_FALSE(other.query());
  held.release();
  other.synchronize();
  EXPECT_THAT(seen, Each(3u));
}

TEST_F(DlpackImport, KernelsFindOverlapsOfImportedArrays) {
  Producer<float> producer({64}), copy({64});
  copy.tensor.data = producer.values.data() + 16;
  copy.shape[0] = 32;
  const auto x = from_tensor<float>(stream, producer.managed()),
             y = from_tensor<float>(stream, copy.managed());
  const Kernel both{"both", [](View<float> a, View<float> b) {
                      stream_parallel([&] { range_for(a.size(), [&](Index i) { a[i] = 1.0f; }); });
                      stream_parallel([&] { range_for(b.size(), [&](Index i) { b[i] = 2.0f; }); });
                    }};
  EXPECT_THAT(thrown_by([&] { both(stream, x, y); }).what(), HasSubstr("share memory"));
  EXPECT_THAT(thrown_by([&] { x.slice(16, 48).copy_from(stream, y); }).what(),
              HasSubstr("overlap or interleave"));
  x.slice(48, 64).copy_from(stream, y.slice(0, 16));
  stream.synchronize();
  EXPECT_EQ(producer.values[48], 17.0f);
}

TEST_F(DlpackImport, DebuggedLaunchesShareOverlappingMemory) {
  const auto body = [](View<float> a, View<float> b) {
    range_for(a.size(), [&](Index i) { a[i] = a[i] + 1.0f; });
    range_for(b.size(), [&](Index i) { b[i] = b[i] * 10.0f; });
  };
  const Kernel compiled{"compiled", body}, debugged{"debugged", body, {.debug = true}};
  std::vector<std::vector<float>> results;
  for (const auto* kernel : {&compiled, &debugged}) {
    Producer<float> producer({100}), part({50});
    part.tensor.data = producer.values.data() + 25;
    {
      const auto x = from_tensor<float>(stream, producer.managed()),
                 y = from_tensor<float>(stream, part.managed());
      (*kernel)(stream, x, y);
    }
    stream.synchronize();
    results.push_back(producer.values);
  }
  EXPECT_EQ(results[0][30], 320.0f);
  EXPECT_EQ(results[0], results[1]);
}

TEST_F(DlpackImport, AnExportedArrayComesBackAsItself) {
  auto x = tested().array<float>(stream, 100);
  x.fill(stream, 1.0f);
  auto y = from_tensor<float>(stream, dlpack::to_tensor(x, dlpack::Order(stream)));
  EXPECT_EQ(y.device_address(), x.device_address());
  x = {};
  doubling()(stream, y);
  EXPECT_EQ(y.to_host(stream), std::vector<float>(100, 2.0f));
}

TEST_F(DlpackImport, MemoryOfSeveralImportsIsReturnedOnceEach) {
  Producer<float> producer({100});
  dlpack::ManagedTensor tensors[3];
  {
    std::vector<Array<float>> arrays;
    for (dlpack::ManagedTensor& tensor : tensors) {
      producer.managed();
      tensor = producer.plain;
      arrays.push_back(from_tensor<float>(stream, reinterpret_cast<DLManagedTensor*>(&tensor)));
      doubling()(stream, arrays.back());
    }
    EXPECT_EQ(arrays[0].to_host(stream)[0], 8.0f);
  }
  tested().synchronize();
  EXPECT_EQ(producer.deleted, 3);
}

TEST_F(DlpackImport, BorrowedMemoryIsNotOfThePool) {
  tested().trim_memory();
  const std::uint64_t before = tested().memory_statistics().bytes_in_use;
  Producer<float> producer({100'000});
  {
    const auto x = from_tensor<float>(stream, producer.managed());
    EXPECT_EQ(tested().memory_statistics().bytes_in_use, before);
  }
  const auto y = tested().array<float>(stream, 100'000);
  EXPECT_NE(y.device_address(), reinterpret_cast<std::uint64_t>(producer.values.data()));
}

// -- copies

template <class T>
void check_strided(const Stream& stream, std::vector<std::int64_t> shape, std::vector<std::int64_t> strides,
                   bool apart = true) {
  Producer<T> producer(shape, strides);
  std::int64_t lowest = 0, count = 1, reach = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    count *= shape[d];
    (strides[d] < 0 ? lowest : reach) += strides[d] * (shape[d] - 1);
  }
  producer.values.resize(static_cast<std::size_t>(reach - lowest + 1));
  for (std::size_t i = 0; i < producer.values.size(); ++i) producer.values[i] = static_cast<T>(i * 7 + 3);
  producer.tensor.data = producer.values.data() - lowest;
  std::vector<T> expected;
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t place = -lowest, rest = i;
    for (std::size_t d = shape.size(); d-- > 0; rest /= shape[d]) place += rest % shape[d] * strides[d];
    expected.push_back(producer.values[static_cast<std::size_t>(place)]);
  }
  if (apart) {
    AnyArray x = from_tensor(stream, producer.managed(), element_type<T>, shape.size(), Copy::never);
    EXPECT_EQ(x.device_address(), reinterpret_cast<std::uint64_t>(producer.tensor.data));
    std::vector<T> found(expected.size());
    x.copy_to_bytes(stream, std::as_writable_bytes(std::span(found)));
    EXPECT_EQ(found, expected);
    x = {};
  } else {
    const auto refused = thrown_by(
        [&] { from_tensor(stream, producer.managed(), element_type<T>, shape.size(), Copy::never); });
    EXPECT_EQ(refused.code(), ErrorCode::unsupported);
    EXPECT_THAT(refused.what(), AllOf(HasSubstr("share memory"), HasSubstr("Copy::if_needed")));
    EXPECT_EQ(producer.deleted, 0);
  }
  tested().synchronize();
  producer.deleted = 0;
  {
    const AnyArray x = from_tensor(stream, producer.managed(), element_type<T>, shape.size(), Copy::always);
    std::vector<T> found(expected.size());
    x.copy_to_bytes(stream, std::as_writable_bytes(std::span(found)));
    EXPECT_EQ(found, expected);
    tested().synchronize();
    EXPECT_EQ(producer.deleted, 1);  // the copy does not need the tensor
  }
  EXPECT_EQ(producer.deleted, 1);
}

TEST_F(DlpackImport, StridedTensorsAreBorrowedOrCopied) {
  check_strided<std::uint8_t>(stream, {3, 4}, {1, 3});        // transposed
  check_strided<std::int16_t>(stream, {10}, {3});             // every third
  check_strided<float>(stream, {5, 6}, {12, 2});              // a column of pairs
  check_strided<double>(stream, {7}, {-1});                   // reversed
  check_strided<std::uint64_t>(stream, {3, 5}, {-9, -1});     // both reversed
  check_strided<float>(stream, {2, 3, 4, 5}, {1, 2, 6, 24});  // four dimensions, first index fastest
  check_strided<std::uint16_t>(stream, {3, 2, 2, 300}, {5000, -2000, 600, 2});
}

TEST_F(DlpackImport, TensorsWhoseElementsShareMemoryAreCopiedOnRequest) {
  check_strided<std::int32_t>(stream, {4, 3}, {0, 1}, false);   // broadcast
  check_strided<std::int32_t>(stream, {4, 3}, {2, 1}, false);   // rows that overlap
  check_strided<std::uint8_t>(stream, {3, 3}, {-2, 2}, false);  // against each other
}

TEST_F(DlpackImport, ComponentsThatAreApartAreCopiedOnRequest) {
  Producer<float> producer({5, 3}, {1, 5});  // one array for each component
  const Error refused = thrown_by([&] { from_tensor<Vec<float, 3>>(stream, producer.managed()); });
  EXPECT_EQ(refused.code(), ErrorCode::unsupported);
  EXPECT_THAT(refused.what(), HasSubstr("components"));
  const auto x = from_tensor<Vec<float, 3>>(stream, producer.managed(), Copy::if_needed);
  const std::vector<Vec<float, 3>> values = x.to_host(stream);
  for (std::size_t i = 0; i < 5; ++i)
    for (std::size_t c = 0; c < 3; ++c) EXPECT_EQ(values[i][c], producer.values[i + 5 * c]);
  Producer<float> matrices({2, 2, 3}, {6, 1, 2});  // transposed matrices
  const auto m = from_tensor<Mat<float, 2, 3>>(stream, matrices.managed(), Copy::if_needed);
  const std::vector<Mat<float, 2, 3>> found = m.to_host(stream);
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t r = 0; r < 2; ++r)
      for (std::size_t c = 0; c < 3; ++c) EXPECT_EQ(found[i](r, c), matrices.values[6 * i + r + 2 * c]);
}

TEST_F(DlpackImport, AdjacentComponentsAreBorrowedWithAnyStrides) {
  Producer<float> producer({4, 2}, {4, 1});  // the first two of four columns
  producer.values.resize(16, 9.0f);
  producer.tensor.data = producer.values.data();
  auto x = from_tensor<Vec<float, 2>>(stream, producer.managed());
  EXPECT_FALSE(x.contiguous());
  EXPECT_EQ(x.stride(0), 4);
  x.fill(stream, Vec<float, 2>{-1, -2});
  x = {};
  tested().synchronize();
  EXPECT_EQ(producer.values[4], -1);
  EXPECT_EQ(producer.values[5], -2);
  EXPECT_EQ(producer.values[6], 7);
  EXPECT_EQ(producer.values[14], 9);
}

TEST_F(DlpackImport, ReadOnlyTensorsAreCopiedOnRequest) {
  Producer<float> producer({100});
  const Error refused =
      thrown_by([&] { from_tensor<float>(stream, producer.versioned(dlpack::flag_read_only)); });
  EXPECT_THAT(refused.what(), HasSubstr("read-only"));
  const auto x = from_tensor<float>(stream, producer.versioned(dlpack::flag_read_only), Copy::if_needed);
  EXPECT_NE(x.device_address(), reinterpret_cast<std::uint64_t>(producer.values.data()));
  EXPECT_EQ(x.to_host(stream), producer.values);
}

TEST_F(DlpackImport, CopiesAlwaysIfAsked) {
  Producer<float> producer({100});
  const auto x = from_tensor<float>(stream, producer.managed(), Copy::always);
  EXPECT_NE(x.device_address(), reinterpret_cast<std::uint64_t>(producer.values.data()));
  EXPECT_EQ(x.to_host(stream), producer.values);
  tested().synchronize();
  EXPECT_EQ(producer.deleted, 1);
}

// -- refusals

/// The words with which an import as an array of T fails. The tensor stays with its owner.
template <class T, std::size_t Rank = 1, class P>
std::string refusal(const Stream& stream, P& producer, ErrorCode code = ErrorCode::invalid) {
  const Error error = thrown_by([&] { from_tensor<T, Rank>(stream, producer.managed()); });
  EXPECT_EQ(error.code(), code);
  EXPECT_EQ(producer.deleted, 0);
  return error.what();
}

TEST_F(DlpackImport, RefusesAnOffsetPastAllMemory) {
  Producer<float> p({1});
  p.tensor.byte_offset = UINT64_MAX - 3;  // 4 bytes before the data, if it wraps
  EXPECT_THAT(refusal<float>(stream, p), HasSubstr("byte_offset is 18446744073709551612, past the end"));
}

TEST_F(DlpackImport, RefusesOtherElements) {
  Producer<float> p({3});
  EXPECT_THAT(refusal<double>(stream, p), AllOf(HasSubstr("float32"), HasSubstr("float64")));
  EXPECT_THAT(refusal<std::int32_t>(stream, p), HasSubstr("expected int32"));
  p.tensor.type.lanes = 2;
  EXPECT_THAT(refusal<float>(stream, p), HasSubstr("float32 with 2 lanes"));
  p.tensor.type = {dlpack::bfloat, 16, 1};
  EXPECT_THAT(refusal<half>(stream, p), HasSubstr("bfloat16"));
  p.tensor.type = {dlpack::complex, 64, 1};
  EXPECT_THAT(refusal<double>(stream, p), HasSubstr("complex64"));
  p.tensor.type = {77, 3, 1};
  EXPECT_THAT(refusal<float>(stream, p), HasSubstr("type code 77 of 3 bits"));
}

TEST_F(DlpackImport, RefusesOtherDimensions) {
  Producer<float> p({3, 4});
  EXPECT_THAT(refusal<float>(stream, p), AllOf(HasSubstr("2 dimensions"), HasSubstr("expected 1")));
  EXPECT_THAT((refusal<Vec<float, 3>>(stream, p)), AllOf(HasSubstr("(3, 4)"), HasSubstr("3 at the end")));
  p.tensor.dimensions = -1;
  EXPECT_THAT(refusal<float>(stream, p), HasSubstr("-1 dimensions"));
  p.tensor.dimensions = 2;
  p.shape[1] = -4;
  EXPECT_THAT((refusal<float, 2>(stream, p)), HasSubstr("extent 1 of its shape is -4"));
  p.tensor.shape = nullptr;
  EXPECT_THAT((refusal<float, 2>(stream, p)), HasSubstr("shape is null"));
}

TEST_F(DlpackImport, RefusesWrongPlaces) {
  Producer<float> p({3});
  p.tensor.data = nullptr;
  EXPECT_THAT(refusal<float>(stream, p), HasSubstr("data is null"));
  p.tensor.data = reinterpret_cast<char*>(p.values.data()) + 2;
  EXPECT_THAT(refusal<float>(stream, p), HasSubstr("no multiple of their 4 bytes"));
  p.tensor.data = p.values.data();
  p.tensor.device_type = 2;
  p.tensor.device_id = 1;
  EXPECT_THAT(refusal<float>(stream, p),
              AllOf(HasSubstr("device 1 of type 2 (kDLCUDA)"), HasSubstr("device 0 of type 1 (kDLCPU)")));
  p.tensor.device_type = 99;
  EXPECT_THAT(refusal<float>(stream, p), HasSubstr("device 1 of type 99;"));
  p.tensor.device_type = 0;
  EXPECT_THAT(refusal<float>(stream, p), HasSubstr("type 0"));
}

TEST_F(DlpackImport, RefusesSizesThatOverflow) {
  Producer<float> p({3});
  p.shape[0] = INT64_MAX;
  EXPECT_THAT(refusal<float>(stream, p), HasSubstr("more bytes than any memory"));
  p.shape[0] = 3;
  p.strides = {INT64_MAX / 2};
  p.tensor.strides = p.strides.data();
  EXPECT_THAT(refusal<float>(stream, p), HasSubstr("more bytes than any memory"));
  p.strides[0] = INT64_MIN;
  EXPECT_THAT(refusal<float>(stream, p), HasSubstr("more bytes than any memory"));
}

TEST_F(DlpackImport, RefusesOtherVersionsAndNull) {
  Producer<float> p({3});
  EXPECT_THAT(thrown_by([&] { from_tensor<float>(stream, p.versioned(0, 2)); }).what(),
              AllOf(HasSubstr("version 2.3"), HasSubstr("1.x")));
  EXPECT_THAT(thrown_by([&] { from_tensor<float>(stream, static_cast<DLManagedTensor*>(nullptr)); }).what(),
              HasSubstr("null"));
  EXPECT_EQ(p.deleted, 0);
}

TEST_F(DlpackImport, AFailedDriverCallLeavesTheTensorWithItsOwner) {
  Producer<float> p({3});
  const Stream gone = tested().create_stream();
  StreamRef dead = gone;
  {
    const Stream ended = tested().create_stream();
    dead = ended;
  }
  EXPECT_EQ(thrown_by([&] { from_tensor<float>(dead, p.managed()); }).code(), ErrorCode::invalid);
  EXPECT_EQ(p.deleted, 0);
}

}  // namespace
}  // namespace weir::test
