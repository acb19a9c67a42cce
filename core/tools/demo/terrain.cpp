// SPDX-License-Identifier: Apache-2.0
#include "terrain.hpp"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <numbers>
#include <system_error>
#include <weir/error.hpp>

#include "terrain_header.hpp"

namespace weir::demo {
namespace {

constexpr std::uintmax_t max_file_bytes = std::uintmax_t{1} << 30;
constexpr double lowest_elevation = -12000;  // metres; below the deepest trench
constexpr double highest_elevation = 10000;  // metres; above the highest mountain

/// Records the first line whose number of values differs from the grid's columns. It is the likely cause of a
/// wrong total, although the format allows line breaks anywhere in a row.
class LineCounter {
 public:
  explicit LineCounter(std::int64_t cols) : cols_(cols) {}
  void value_on(std::int64_t line) {
    if (line != line_) close(), line_ = line, count_ = 0;
    ++count_;
  }
  std::string hint() {
    close();
    if (odd_line_ == 0) return "";
    return "; the first line without " + std::to_string(cols_) + " values is line " +
           std::to_string(odd_line_) + ", with " + std::to_string(odd_count_);
  }

 private:
  void close() {
    if (line_ != 0 && odd_line_ == 0 && count_ != cols_) odd_line_ = line_, odd_count_ = count_;
  }
  std::int64_t cols_;
  std::int64_t line_ = 0, count_ = 0;
  std::int64_t odd_line_ = 0, odd_count_ = 0;
};

std::string position(std::int64_t index, std::int64_t cols) {
  return "row " + std::to_string(index / cols + 1) + ", column " + std::to_string(index % cols + 1);
}

std::vector<float> read_elevations(WordScanner& scanner, const TerrainHeader& header, const Ranks& ranks) {
  const std::int64_t total = header.rows * header.cols;
  const auto too_few = [&](std::int64_t found, const std::string& hint) {
    scanner.fail("the grid ends after " + std::to_string(found) + " of " + std::to_string(total) +
                 " values (" + std::to_string(header.rows) + " rows of " + std::to_string(header.cols) + ")" +
                 hint + "; is the file truncated?");
  };
  LineCounter lines(header.cols);
  std::vector<float> elevation;
  // A value takes a digit and a separator, so that a false header cannot cause an allocation larger than the
  // file.
  const Rows kept = ranks.rows(header.rows);
  elevation.reserve(std::min(static_cast<std::size_t>(kept.size() * header.cols), scanner.left() / 2 + 1));
  const auto keep = [&](std::int64_t i, float value) {
    if (i >= kept.begin * header.cols && i < kept.end * header.cols) elevation.push_back(value);
  };
  bool any = false;
  for (std::int64_t i = 0; i < total; ++i) {
    const std::string_view word = scanner.next();
    if (word.empty()) too_few(i, lines.hint());
    lines.value_on(scanner.line());
    const std::optional<double> value = number(word);
    if (!value) {
      scanner.fail(position(i, header.cols) + " is " + quoted(word) +
                   ", expected a finite number; unknown elevations are written as the NODATA_value");
    }
    if (header.no_data && *value == *header.no_data) {
      keep(i, std::numeric_limits<float>::quiet_NaN());
      continue;
    }
    if (*value < lowest_elevation || *value > highest_elevation) {
      scanner.fail(position(i, header.cols) + " is " + quoted(word) +
                   ", expected metres from -12000 to 10000" +
                   (header.no_data ? "" : "; the header has no NODATA_value"));
    }
    keep(i, static_cast<float>(*value));
    any = true;
  }
  const std::string_view extra = scanner.next();
  if (!extra.empty()) {
    if (number(extra)) lines.value_on(scanner.line());
    scanner.fail("found " + quoted(extra) + " after the last of " + std::to_string(header.rows) +
                 " rows of " + std::to_string(header.cols) + " values" + lines.hint());
  }
  if (!any) scanner.fail("every cell is the NODATA_value; expected at least one elevation");
  return elevation;
}

bool looks_geographic(const TerrainHeader& header) {
  const double east = header.west + header.cell_x * static_cast<double>(header.cols);
  const double north = header.south + header.cell_y * static_cast<double>(header.rows);
  return header.cell_x <= 1 && header.cell_y <= 1 && header.west >= -360 && east <= 360 &&
         header.south >= -90 && north <= 90;
}

Terrain parse(WordScanner& scanner, CellUnits units, const Ranks& ranks) {
  if (scanner.peek().empty()) scanner.fail("the file is empty; expected an ESRI ASCII grid");
  const TerrainHeader header = read_header(scanner);
  Terrain terrain;
  terrain.rows = header.rows;
  terrain.cols = header.cols;
  terrain.cell_width = header.cell_x;
  terrain.cell_height = header.cell_y;
  if (units == CellUnits::degrees || (units == CellUnits::automatic && looks_geographic(header))) {
    // A sphere of the Earth's mean radius, 6371.0088 km (IUGG); within 0.6 % of the ellipsoid, which is
    // accurate enough.
    constexpr double metres_per_degree = 6371008.8 * std::numbers::pi / 180;
    const double latitude = header.south + header.cell_y * static_cast<double>(header.rows) / 2;
    if (!(std::abs(latitude) < 89))
      scanner.fail("the grid's centre is at latitude " + std::to_string(latitude) +
                   ", expected -89 to 89 for cells in degrees");
    terrain.cell_height *= metres_per_degree;
    terrain.cell_width *= metres_per_degree * std::cos(latitude * std::numbers::pi / 180);
  }
  terrain.elevation = read_elevations(scanner, header, ranks);
  return terrain;
}

}  // namespace

Terrain parse_terrain(std::string_view text, std::string_view name, CellUnits units) {
  WordScanner scanner(text, name);
  return parse(scanner, units, {});
}

Terrain read_terrain(const std::filesystem::path& path, CellUnits units, const Ranks& ranks) {
  const std::string name = path.string();
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorCode::system, name + ": cannot read the terrain: " + why);
  };
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) refuse("no such file");
  if (std::filesystem::is_directory(status)) refuse("it is a folder, expected an ESRI ASCII grid");
  if (!std::filesystem::is_regular_file(status)) refuse("it is not a regular file");
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error) refuse(error.message());
  if (size > max_file_bytes) refuse("it has " + std::to_string(size) + " bytes, expected at most 1 GiB");
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) refuse(std::strerror(errno));
  WordScanner scanner(file, static_cast<std::size_t>(size), name);
  return parse(scanner, units, ranks);
}

}  // namespace weir::demo
