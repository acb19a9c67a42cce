// SPDX-License-Identifier: Apache-2.0
// Lettering for maps: glyphs of a few strokes each, drawn with smooth edges.
#pragma once

#include <string_view>

#include "image.hpp"

namespace weir::demo {

/// Draws a line of `thickness` pixels with round ends.
void draw_line(Image& image, float x0, float y0, float x1, float y1, float thickness, Colour colour,
               float opacity = 1);

/// Draws printable ASCII with its top left corner at (x, y); capitals are `height` pixels tall. Characters
/// without a glyph are left blank.
void draw_text(Image& image, float x, float y, float height, std::string_view text, Colour colour,
               float opacity = 1);

/// Total advance of draw_text over the text, in pixels.
float text_width(float height, std::string_view text);

}  // namespace weir::demo
