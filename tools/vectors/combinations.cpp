#include "tools/vectors/combinations.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace ptx2cpu::vectors {

namespace {

using Pair = std::tuple<size_t, size_t, size_t, size_t>;  // element, word, element, word

// Words an element may take; the empty one first where it is optional.
std::vector<std::vector<std::string>> WordsOf(const ptx::Form& form) {
  std::vector<std::vector<std::string>> words;
  for (const ptx::Element& element : form.elements) {
    std::vector<std::string> list = element.words;
    if (element.optional) list.insert(list.begin(), "");
    words.push_back(std::move(list));
  }
  return words;
}

bool LinksHold(const ptx::Form& form, const std::vector<size_t>& picked) {
  std::map<uint8_t, bool> present;
  for (size_t i = 0; i < form.elements.size(); ++i) {
    const ptx::Element& element = form.elements[i];
    if (element.link == 0) continue;
    const bool here = !(element.optional && picked[i] == 0);
    auto [at, fresh] = present.emplace(element.link, here);
    if (!fresh && at->second != here) return false;
  }
  return true;
}

std::set<Pair> PairsOf(const std::vector<size_t>& picked) {
  std::set<Pair> pairs;
  for (size_t i = 0; i < picked.size(); ++i) {
    for (size_t j = i + 1; j < picked.size(); ++j) pairs.insert({i, picked[i], j, picked[j]});
  }
  if (picked.size() == 1) pairs.insert({0, picked[0], 0, picked[0]});
  return pairs;
}

}  // namespace

std::vector<Choice> ChoosePairwise(const ptx::Form& form, const std::set<Choice>& excluded) {
  const auto words = WordsOf(form);
  std::vector<std::vector<size_t>> all = {{}};
  for (const auto& list : words) {
    std::vector<std::vector<size_t>> longer;
    for (const auto& prefix : all) {
      for (size_t w = 0; w < list.size(); ++w) {
        longer.push_back(prefix);
        longer.back().push_back(w);
      }
    }
    all = std::move(longer);
  }
  const auto options_used = [&](const std::vector<size_t>& picked) {
    size_t used = 0;
    for (size_t i = 0; i < picked.size(); ++i) used += form.elements[i].optional && picked[i] != 0;
    return used;
  };
  std::stable_sort(all.begin(), all.end(),
                   [&](const auto& a, const auto& b) { return options_used(a) < options_used(b); });
  std::set<Pair> covered;
  std::vector<Choice> result;
  // Two sweeps: first those that bring many new pairs, then whatever closes the gaps.
  for (const size_t wanted : {words.size() * (words.size() - 1) / 2, size_t{1}}) {
    for (const auto& picked : all) {
      if (!LinksHold(form, picked)) continue;
      Choice choice;
      for (size_t i = 0; i < picked.size(); ++i) choice.push_back(words[i][picked[i]]);
      if (excluded.contains(choice)) continue;
      const std::set<Pair> pairs = PairsOf(picked);
      size_t fresh = 0;
      for (const Pair& pair : pairs) fresh += covered.count(pair) == 0;
      if (fresh < std::max<size_t>(wanted, 1) && !(picked.empty() && result.empty())) continue;
      covered.insert(pairs.begin(), pairs.end());
      result.push_back(std::move(choice));
    }
  }
  return result;
}

}  // namespace ptx2cpu::vectors
