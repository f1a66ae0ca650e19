// The words of CONTRIBUTING's glossary: phrases that pages, comments and messages do not use, because a plain
// technical one exists. A phrase is a sequence of words; case and line breaks do not matter.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fs = std::filesystem;

namespace {

const fs::path kRoot = PTX2CPU_SOURCE_DIR;

struct Phrase {
  std::string_view words;
  std::string_view instead;
};

constexpr Phrase kPhrases[] = {
    {"stand", "appear, be"},
    {"stands", "appears, is"},
    {"stood", "appeared, was"},
    {"behind", "after, below, in"},
    {"tell", "report, name, list"},
    {"tells", "reports, names, lists"},
    {"told", "reported, given"},
    {"say", "report, state, name"},
    {"says", "reports, states, names"},
    {"said", "reported, stated, named"},
    {"circle", "cycle"},
    {"circles", "cycles"},
    {"that there is", "that exists"},
    {"that there are", "that exist"},
    {"can not", "cannot"},
    {"but 0", "other than 0, except 0"},
    {"taken for", "treated as, counted as"},
    {"takes for", "treats as"},
    {"by itself", "on its own, automatically"},
    {"by themselves", "on their own, automatically"},
};

// A phrase is right in these sentences: the words around it, in lower case, as the page has them.
constexpr std::string_view kAllowed[] = {
    "circle of radius",  // the figure
};

struct Word {
  std::string text;
  size_t line;
};

void AddWords(std::string_view text, size_t line, std::vector<Word>& words) {
  std::string word;
  for (const char c : text) {
    const unsigned char u = static_cast<unsigned char>(c);
    if (std::isalnum(u) || c == '_' || c == '\'') {
      word += static_cast<char>(std::tolower(u));
      continue;
    }
    if (!word.empty()) words.push_back({std::exchange(word, {}), line});
    if (c == '\n') ++line;
    // A full stop ends a phrase; punctuation within a sentence does not matter.
    if (c == '.' || c == ';' || c == ':') words.push_back({".", line});
  }
  if (!word.empty()) words.push_back({word, line});
}

// Pages: without code blocks, `code` and the glossary's own table.
std::vector<Word> WordsOfPage(const fs::path& page) {
  std::ifstream in(kRoot / page);
  std::vector<Word> words;
  bool code = false, glossary = false;
  size_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.starts_with("```")) code = !code;
    if (line.starts_with("## ")) glossary = line == "## Glossary";
    if (code || line.starts_with("    ") || (glossary && line.starts_with("|"))) continue;
    bool quoted = false;
    std::string text;
    for (const char c : line) {
      if (c == '`') quoted = !quoted;
      text += quoted ? '_' : c;
    }
    AddWords(text, number, words);
  }
  return words;
}

bool Matches(const std::vector<Word>& words, size_t at, const std::vector<Word>& phrase) {
  if (at + phrase.size() > words.size()) return false;
  for (size_t i = 0; i < phrase.size(); ++i) {
    if (words[at + i].text != phrase[i].text) return false;
  }
  return true;
}

std::vector<Word> Split(std::string_view phrase) {
  std::vector<Word> words;
  AddWords(phrase, 0, words);
  return words;
}

struct Found {
  size_t line;
  const Phrase* phrase;
};

bool IsAllowed(const std::vector<Word>& words, size_t at) {
  return std::any_of(std::begin(kAllowed), std::end(kAllowed), [&](std::string_view allowed) {
    const std::vector<Word> phrase = Split(allowed);
    for (size_t back = 0; back < phrase.size() && back <= at; ++back) {
      if (Matches(words, at - back, phrase)) return true;
    }
    return false;
  });
}

std::vector<Found> Find(const std::vector<Word>& words) {
  static const auto kSplit = [] {
    std::vector<std::vector<Word>> split;
    for (const Phrase& phrase : kPhrases) split.push_back(Split(phrase.words));
    return split;
  }();
  std::vector<Found> found;
  for (size_t at = 0; at < words.size(); ++at) {
    for (size_t p = 0; p < kSplit.size(); ++p) {
      if (Matches(words, at, kSplit[p]) && !IsAllowed(words, at))
        found.push_back({words[at].line, &kPhrases[p]});
    }
  }
  return found;
}

void Check(const fs::path& file, const std::vector<Word>& words) {
  for (const Found& found : Find(words)) {
    FAIL_CHECK(file.generic_string() << ":" << found.line << ": '" << found.phrase->words << "'; write "
                                     << found.phrase->instead << " (CONTRIBUTING, Glossary)");
  }
}

}  // namespace

TEST_CASE("phrases are found across line breaks, and in allowed sentences are not") {
  const auto lines = [](std::string_view text) {
    std::vector<Word> words;
    AddWords(text, 1, words);
    std::vector<size_t> result;
    for (const Found& found : Find(words)) result.push_back(found.line);
    return result;
  };
  CHECK(lines("It Stands\nby\nitself. Can. Not understand.") == std::vector<size_t>{1, 2});
  CHECK(lines("A circle of radius 3, a circle.") == std::vector<size_t>{1});
}

TEST_CASE("README and CONTRIBUTING use the glossary's words") {
  for (const char* page : {"README.md", "CONTRIBUTING.md"}) Check(page, WordsOfPage(page));
}
