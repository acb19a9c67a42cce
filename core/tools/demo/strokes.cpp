// SPDX-License-Identifier: Apache-2.0
#include "strokes.hpp"

#include <algorithm>
#include <cmath>

namespace weir::demo {
namespace {

// A glyph is a list of strokes separated by spaces. A stroke is a list of points with two digits each, x and
// y. x is from 0 to `width`; y is 0 at the top of capitals, 6 at the baseline and 8 at the descender of a g.
struct Glyph {
  char letter;
  int width;
  std::string_view strokes;
};

constexpr int gap = 2;
constexpr int blank = 3;

constexpr Glyph glyphs[] = {
    {'0', 4, "103041453616050110"},
    {'1', 2, "012026"},
    {'2', 4, "01103041420646"},
    {'3', 4, "0110304142334445361605 1333"},
    {'4', 4, "36300444"},
    {'5', 4, "400002324345361605"},
    {'6', 4, "413010010516364544331304"},
    {'7', 4, "004016"},
    {'8', 4, "103041423313020110 1304051636454433"},
    {'9', 4, "051636454130100102133342"},
    {'A', 4, "062046 1434"},
    {'B', 4, "00063645443303 3342413000"},
    {'C', 4, "4130100105163645"},
    {'D', 4, "00062645412000"},
    {'E', 4, "40000646 0333"},
    {'F', 4, "400006 0333"},
    {'G', 4, "41301001051636454323"},
    {'H', 4, "0006 4046 0343"},
    {'I', 0, "0006"},
    {'J', 3, "3035261605"},
    {'K', 4, "0006 4003 1246"},
    {'L', 4, "000646"},
    {'M', 4, "0600244046"},
    {'N', 4, "06004640"},
    {'O', 4, "103041453616050110"},
    {'P', 4, "06003041423303"},
    {'Q', 4, "103041453616050110 2446"},
    {'R', 4, "06003041423303 2346"},
    {'S', 4, "413010010213334445361605"},
    {'T', 4, "0040 2026"},
    {'U', 4, "000516364540"},
    {'V', 4, "002640"},
    {'W', 4, "0016223640"},
    {'X', 4, "0046 4006"},
    {'Y', 4, "002340 2326"},
    {'Z', 4, "00400646"},
    {'a', 3, "3236 3322120305162635"},
    {'b', 3, "0006 0312223335261605"},
    {'c', 3, "3322120305162635"},
    {'d', 3, "3036 3322120305162635"},
    {'e', 3, "04343322120305162635"},
    {'f', 2, "201116 0222"},
    {'g', 3, "3237281807 3322120305162635"},
    {'h', 3, "0006 0312223336"},
    {'i', 0, "0206 0000"},
    {'j', 1, "121708 1010"},
    {'k', 3, "0006 3204 1336"},
    {'l', 0, "0006"},
    {'m', 4, "0206 03122326 23324346"},
    {'n', 3, "0206 0312223336"},
    {'o', 3, "122233352616050312"},
    {'p', 3, "0208 0312223335261605"},
    {'q', 3, "3238 3322120305162635"},
    {'r', 2, "0206 031222"},
    {'s', 3, "3212031424352606"},
    {'t', 2, "101526 0222"},
    {'u', 3, "0205162635 3236"},
    {'v', 2, "021622"},
    {'w', 4, "0216233642"},
    {'x', 3, "0236 3206"},
    {'y', 2, "0216 221608"},
    {'z', 3, "02320636"},
    {'.', 0, "0606"},
    {',', 1, "1607"},
    {':', 0, "0303 0606"},
    {'/', 3, "3006"},
    {'-', 3, "0333"},
    {'+', 4, "0343 2125"},
    {'=', 3, "0232 0434"},
    {'<', 3, "310335"},
    {'>', 3, "013305"},
    {'(', 1, "10010516"},
    {')', 1, "00111506"},
    {'%', 4, "4006 0000 4646"},
};

const Glyph* find(char letter) {
  for (const Glyph& glyph : glyphs)
    if (glyph.letter == letter) return &glyph;
  return nullptr;
}

float advance(char letter) {
  const Glyph* glyph = find(letter);
  return static_cast<float>(glyph ? glyph->width + gap : blank);
}

}  // namespace

void draw_line(Image& image, float x0, float y0, float x1, float y1, float thickness, Colour colour,
               float opacity) {
  const float reach = thickness / 2 + 1;
  const int left = static_cast<int>(std::floor(std::min(x0, x1) - reach)),
            right = static_cast<int>(std::ceil(std::max(x0, x1) + reach));
  const int top = static_cast<int>(std::floor(std::min(y0, y1) - reach)),
            bottom = static_cast<int>(std::ceil(std::max(y0, y1) + reach));
  const float dx = x1 - x0, dy = y1 - y0;
  const float length2 = std::max(dx * dx + dy * dy, 1e-9f);
  for (int y = top; y <= bottom; ++y) {
    for (int x = left; x <= right; ++x) {
      const float px = static_cast<float>(x) + 0.5f - x0, py = static_cast<float>(y) + 0.5f - y0;
      const float t = std::clamp((px * dx + py * dy) / length2, 0.0f, 1.0f);
      const float cover = thickness / 2 + 0.5f - std::hypot(px - t * dx, py - t * dy);
      if (cover > 0) image.blend(x, y, colour, std::min(cover, 1.0f) * opacity);
    }
  }
}

void draw_text(Image& image, float x, float y, float height, std::string_view text, Colour colour,
               float opacity) {
  const float unit = height / 6;
  const float thickness = std::max(1.1f, height / 8);
  for (char letter : text) {
    if (const Glyph* glyph = find(letter)) {
      const std::string_view s = glyph->strokes;
      for (std::size_t i = 0; i + 3 < s.size(); i += 2) {
        if (s[i] == ' ') ++i;
        if (i + 3 >= s.size() || s[i + 2] == ' ') continue;
        const auto point = [&](std::size_t k) { return static_cast<float>(s[k] - '0') * unit; };
        draw_line(image, x + point(i), y + point(i + 1), x + point(i + 2), y + point(i + 3), thickness,
                  colour, opacity);
      }
    }
    x += advance(letter) * unit;
  }
}

float text_width(float height, std::string_view text) {
  float units = 0;
  for (char letter : text) units += advance(letter);
  return units * height / 6;
}

}  // namespace weir::demo
