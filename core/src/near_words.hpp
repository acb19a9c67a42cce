// SPDX-License-Identifier: Apache-2.0
// Suggestions for a misspelt word.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir {

/// The number of characters to insert, delete or replace, or of neighbours to exchange, that turns `a` into
/// `b`; case is ignored.
inline std::size_t edit_distance(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  // Of the first i - 2, i - 1 and i characters of `a`.
  std::vector<std::size_t> before(b.size() + 1), last(before), row(before);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::swap(before, last);
    std::swap(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool replaced = lower(a[i - 1]) != lower(b[j - 1]);
      row[j] = std::min({last[j - 1] + replaced, last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]))
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

/// At most three of `names` that `word` may be a misspelling of, the nearest first. At most a third of the
/// characters differ, or `word` is the beginning of the name. Longer words than 64 characters have none.
template <class Names>
std::vector<std::string> near_words(std::string_view word, const Names& names) {
  constexpr std::size_t max_characters = 64, max_words = 3;
  std::vector<std::pair<std::size_t, std::string>> near;
  if (word.empty() || word.size() > max_characters) return {};
  for (const auto& candidate : names) {
    const std::string_view name = candidate;
    const std::size_t distance = edit_distance(word, name);
    const bool begins = word.size() >= 3 && name.size() > word.size() &&
                        edit_distance(word, name.substr(0, word.size())) == 0;
    if (distance <= std::max<std::size_t>(1, word.size() / 3) || begins) near.emplace_back(distance, name);
  }
  std::ranges::sort(near);
  std::vector<std::string> words;
  for (auto& [distance, name] : near)
    if (words.size() < max_words && std::ranges::find(words, name) == words.end())
      words.push_back(std::move(name));
  return words;
}

/// "; did you mean cpu or cuda?", or an empty text.
template <class Names>
std::string suggestion(std::string_view word, const Names& names) {
  const std::vector<std::string> near = near_words(word, names);
  std::string text;
  for (std::size_t i = 0; i < near.size(); ++i)
    text += (i == 0 ? "" : i + 1 == near.size() ? " or " : ", ") + near[i];
  return text.empty() ? text : "; did you mean " + text + "?";
}

}  // namespace weir
