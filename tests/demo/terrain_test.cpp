// SPDX-License-Identifier: Apache-2.0
// The reader of ESRI ASCII grids: its results for valid text and its messages for invalid text.
#include "terrain.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <weir/error.hpp>

namespace weir::demo {
namespace {

using testing::HasSubstr;

const std::string good_header =
    "ncols 3\nnrows 3\nxllcorner 0\nyllcorner 0\ncellsize 30\nNODATA_value -9999\n";
const std::string good_values = "1 2 3\n4 5 6\n7 8 9\n";

TEST(Terrain, ReadsRowsFromNorthToSouth) {
  const Terrain terrain = parse_terrain(good_header + good_values, "grid.asc");
  EXPECT_EQ(terrain.rows, 3);
  EXPECT_EQ(terrain.cols, 3);
  EXPECT_EQ(terrain.at(0, 2), 3);
  EXPECT_EQ(terrain.at(2, 0), 7);
}

TEST(Terrain, KeepsMetresAsTheyAre) {
  const Terrain terrain = parse_terrain(good_header + good_values, "grid.asc");
  EXPECT_EQ(terrain.cell_width, 30);
  EXPECT_EQ(terrain.cell_height, 30);
}

TEST(Terrain, TurnsDegreesIntoMetresByLatitude) {
  const Terrain terrain = parse_terrain(
      "ncols 3\nnrows 3\nxllcorner 10\nyllcorner 59.9985\ncellsize 0.001\n" + good_values, "grid.asc");
  EXPECT_NEAR(terrain.cell_height, 111.195, 0.01);
  EXPECT_NEAR(terrain.cell_width, 111.195 / 2, 0.01);  // cos 60 degrees
}

TEST(Terrain, TakesTheUnitThatIsAskedFor) {
  const std::string text = "ncols 3\nnrows 3\nxllcorner 10\nyllcorner 60\ncellsize 0.5\n" + good_values;
  EXPECT_EQ(parse_terrain(text, "grid.asc", CellUnits::metres).cell_width, 0.5);
  EXPECT_GT(parse_terrain(text, "grid.asc", CellUnits::degrees).cell_width, 20000);
}

TEST(Terrain, MarksCellsWithoutData) {
  const Terrain terrain = parse_terrain(good_header + "1 2 3\n4 -9999 6\n7 8 9\n", "grid.asc");
  EXPECT_TRUE(std::isnan(terrain.at(1, 1)));
  EXPECT_EQ(terrain.at(1, 2), 6);
}

struct Variant {
  const char* name;
  std::string text;
};
void PrintTo(const Variant& variant, std::ostream* out) {
  *out << variant.name;
}
class TerrainVariant : public testing::TestWithParam<Variant> {};

TEST_P(TerrainVariant, IsTheSameGrid) {
  const Terrain terrain = parse_terrain(GetParam().text, "grid.asc");
  EXPECT_EQ(terrain.elevation, (std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(terrain.cell_width, 30);
  EXPECT_EQ(terrain.cell_height, 30);
}

INSTANTIATE_TEST_SUITE_P(
    Accepted, TerrainVariant,
    testing::Values(
        Variant{"CentreOfCells", "ncols 3\nnrows 3\nxllcenter 15\nyllcenter 15\ncellsize 30\n" + good_values},
        Variant{"UpperCaseKeys",
                "NCOLS 3\nNROWS 3\nXLLCORNER 0\nYLLCORNER 0\nCELLSIZE 30\nnodata_VALUE -1\n" + good_values},
        Variant{
            "CarriageReturns",
            "ncols 3\r\nnrows 3\r\nxllcorner 0\r\nyllcorner 0\r\ncellsize 30\r\n1 2 3\r\n4 5 6\r\n7 8 9\r\n"},
        Variant{"TabsAndBlanks",
                "ncols\t3\nnrows   3\n xllcorner 0\nyllcorner 0\ncellsize 30\n\n  1\t2 3 \n4 5 6\n\n7 8 9"},
        Variant{"CellsWithTwoSides",
                "ncols 3\nnrows 3\nxllcorner 0\nyllcorner 0\ndx 30\ndy 30\n" + good_values},
        Variant{"WithoutNoData", "ncols 3\nnrows 3\nxllcorner 0\nyllcorner 0\ncellsize 30\n" + good_values},
        Variant{"KeysInAnotherOrder",
                "cellsize 30\nyllcorner 0\nxllcorner 0\nnrows 3\nncols 3\n" + good_values},
        Variant{"AllOnOneLine", "ncols 3\nnrows 3\nxllcorner 0\nyllcorner 0\ncellsize 30\n1 2 3 4 5 6 7 8 9"},
        Variant{"Exponents",
                "ncols 3\nnrows 3\nxllcorner 0\nyllcorner 0\ncellsize 3.0e1\n1e0 2.0 +3 40e-1 5 6 7 8 9.00"}),
    [](const auto& info) { return info.param.name; });

struct BadText {
  const char* name;
  std::string text;
  const char* message;
};
void PrintTo(const BadText& bad, std::ostream* out) {
  *out << bad.name;
}
class BadTerrain : public testing::TestWithParam<BadText> {};

TEST_P(BadTerrain, NamesTheLineAndTheFault) {
  try {
    parse_terrain(GetParam().text, "grid.asc");
    FAIL() << "was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::parse);
    EXPECT_THAT(error.what(), HasSubstr(GetParam().message));
  }
}

const std::string sized = "xllcorner 0\nyllcorner 0\ncellsize 30\n";

INSTANTIATE_TEST_SUITE_P(
    Refused, BadTerrain,
    testing::Values(
        BadText{"Empty", "", "grid.asc:1: the file is empty"},
        BadText{"OnlyBlanks", " \n\n \n", "grid.asc:1: the file is empty"},
        BadText{"Binary",
                std::string("\x7f"
                            "ELF\x02\x01\0\0\xff\xfe",
                            10),
                "grid.asc:1: expected a header key"},
        BadText{"BinaryIsShownSafely", "\x1b[31m 5\n", "found '\\x1b[31m'; is this an ESRI ASCII grid?"},
        BadText{"LongGarbage", std::string(1 << 20, 'x'), "found 'xxxxxxxxxxxxxxxxxxxxxxxx...'"},
        BadText{"NoHeader", good_values, "grid.asc:1: the header ends without 'ncols'"},
        BadText{"NoRows", "ncols 3\n" + sized + good_values, "grid.asc:4: the header ends without 'nrows'"},
        BadText{"NoCellSize", "ncols 3\nnrows 3\nxllcorner 0\nyllcorner 0\n" + good_values,
                "grid.asc:4: the header ends without 'cellsize' (or 'dx' and 'dy')"},
        BadText{"OnlyOneSideOfCells", "ncols 3\nnrows 3\nxllcorner 0\nyllcorner 0\ndx 30\n" + good_values,
                "without 'cellsize' (or 'dx' and 'dy')"},
        BadText{"TwoCellSizes", "ncols 3\nnrows 3\n" + sized + "dx 30\n" + good_values,
                "grid.asc:6: both 'cellsize' and 'dx' or 'dy' are given"},
        BadText{"NoWest", "ncols 3\nnrows 3\nyllcorner 0\ncellsize 30\n" + good_values,
                "without 'xllcorner' or 'xllcenter'"},
        BadText{"NoSouth", "ncols 3\nnrows 3\nxllcorner 0\ncellsize 30\n" + good_values,
                "without 'yllcorner' or 'yllcenter'"},
        BadText{"CornerAndCentre", "ncols 3\nnrows 3\nxllcenter 0\n" + sized + good_values,
                "grid.asc:3: both 'xllcorner' and 'xllcenter' are given"},
        BadText{"UnknownKey", "ncols 3\nnrows 3\ncolour 7\n", "grid.asc:3: expected a header key"},
        BadText{"KeyTwice", "ncols 3\nnrows 3\nncols 4\n",
                "grid.asc:3: 'ncols' is given twice; the first is on line 1"},
        BadText{"KeyWithoutValue", "ncols\nnrows 3\n", "grid.asc:1: 'ncols' has no value on its line"},
        BadText{"KeyAtTheEnd", "ncols 3\nnrows", "grid.asc:2: 'nrows' has no value on its line"},
        BadText{"HeaderNotANumber", "ncols three\n",
                "grid.asc:1: 'ncols' is 'three', expected a finite number"},
        BadText{"HeaderNaN", "ncols 3\nnrows 3\nxllcorner nan\n",
                "grid.asc:3: 'xllcorner' is 'nan', expected a finite number"},
        BadText{"ZeroColumns", "ncols 0\nnrows 3\n" + sized,
                "grid.asc:1: 'ncols' is 0, expected a whole number from 3 to 16384"},
        BadText{"NegativeRows", "ncols 3\nnrows -3\n" + sized,
                "grid.asc:2: 'nrows' is -3, expected a whole number"},
        BadText{"FractionalRows", "ncols 3\nnrows 3.5\n" + sized,
                "grid.asc:2: 'nrows' is 3.5, expected a whole number"},
        BadText{"AbsurdColumns", "ncols 1e300\nnrows 3\n" + sized,
                "grid.asc:1: 'ncols' is 1e+300, expected a whole number"},
        BadText{"TooManyCells", "ncols 16384\nnrows 16384\n" + sized,
                "grid.asc:2: the grid has 268435456 cells, expected at most 33554432"},
        BadText{"ZeroCellSize", "ncols 3\nnrows 3\nxllcorner 0\nyllcorner 0\ncellsize 0\n" + good_values,
                "grid.asc:5: 'cellsize' is 0.000000, expected a cell size above 0"},
        BadText{"PolarDegrees", "ncols 3\nnrows 3\nxllcorner 0\nyllcorner 89.5\ncellsize 0.1\n" + good_values,
                "expected -89 to 89 for cells in degrees"},
        BadText{"Truncated", good_header + "1 2 3\n4 5",
                "grid.asc:8: the grid ends after 5 of 9 values (3 rows of 3); the first line without 3 "
                "values is line 8, with 2; is the file truncated?"},
        BadText{"HeaderOnly", good_header, "grid.asc:6: the grid ends after 0 of 9 values"},
        BadText{"ShortRow", good_header + "1 2 3\n4 5\n7 8 9\n",
                "grid.asc:9: the grid ends after 8 of 9 values (3 rows of 3); the first line without 3 "
                "values is line 8, with 2"},
        BadText{"LongRow", good_header + "1 2 3 4\n4 5 6\n7 8 9\n",
                "grid.asc:9: found '9' after the last of 3 rows of 3 values; the first line without 3 values "
                "is line 7, with 4"},
        BadText{"OneRowTooMany", good_header + good_values + "10 11 12\n",
                "grid.asc:10: found '10' after the last of 3 rows of 3 values"},
        BadText{"TextAfterTheGrid", good_header + good_values + "the end\n",
                "grid.asc:10: found 'the' after the last"},
        BadText{"NaN", good_header + "1 2 3\n4 nan 6\n7 8 9\n",
                "grid.asc:8: row 2, column 2 is 'nan', expected a finite number"},
        BadText{"Infinite", good_header + "1 2 3\n4 5 -inf\n7 8 9\n",
                "grid.asc:8: row 2, column 3 is '-inf', expected a finite number"},
        BadText{"NotANumber", good_header + "1 2 3\n4 5 6\n7 eight 9\n",
                "grid.asc:9: row 3, column 2 is 'eight', expected a finite number"},
        BadText{"DecimalComma", good_header + "1 2,5 3\n4 5 6\n7 8 9\n",
                "grid.asc:7: row 1, column 2 is '2,5', expected a finite number"},
        BadText{"NumberWithATail", good_header + "1 2m 3\n4 5 6\n7 8 9\n",
                "row 1, column 2 is '2m', expected a finite number"},
        BadText{"TooLargeForADouble", good_header + "1 1e999 3\n4 5 6\n7 8 9\n",
                "row 1, column 2 is '1e999', expected a finite number"},
        BadText{"HigherThanMountains", good_header + "1 32767 3\n4 5 6\n7 8 9\n",
                "grid.asc:7: row 1, column 2 is '32767', expected metres from -12000 to 10000"},
        BadText{"UndeclaredNoData", "ncols 3\nnrows 3\n" + sized + "-99999 2 3\n4 5 6\n7 8 9\n",
                "the header has no NODATA_value"},
        BadText{"NothingButNoData", good_header + "-9999 -9999 -9999\n-9999 -9999 -9999\n-9999 -9999 -9999\n",
                "grid.asc:9: every cell is the NODATA_value"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace weir::demo
