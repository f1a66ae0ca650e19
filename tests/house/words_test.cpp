// The words of CONTRIBUTING's glossary: phrases that pages, headers and messages do not use, because a plain
// technical one exists. A phrase is a sequence of words; case and line breaks do not matter.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cctype>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tests/house/tree.h"

using namespace ptx2cpu::house_test;

namespace {

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
    {"nobody", "no thread, no program"},
    {"whoever", "the thread that, the code that"},
    {"go on", "continue"},
    {"goes on", "continues"},
    {"at hand", "known, available, current"},
};

// Sources with names that records or programs have: answers of a GPU's machine, output that is compared, a
// device function; and this one.
const std::set<std::string> kHaveNames = {
    "tests/driver/graph_questions.h", "tests/driver/reference_questions.h",
    "tests/driver/ask/services_asker.cpp", "tests/programs/sources/driver_api.cpp",
    "tests/house/words_test.cpp"};

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
  std::vector<Word> words;
  bool code = false, glossary = false;
  size_t number = 0;
  for (const std::string& line : Lines(page)) {
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

// What a source writes for people: string literals and comments. Raw strings are PTX and the like.
std::vector<Word> WordsOfSource(std::string_view text) {
  std::vector<Word> words;
  size_t line = 1;
  bool joins = false;  // "a" "b" is one literal
  for (size_t at = 0; at < text.size();) {
    const auto until = [&](std::string_view end, size_t from) {
      const size_t found = text.find(end, from);
      return found == std::string_view::npos ? text.size() : found + end.size();
    };
    size_t end = at + 1;
    bool prose = false;
    if (text.substr(at).starts_with("//")) {
      end = until("\n", at) - 1;
      prose = true;
    } else if (text.substr(at).starts_with("/*")) {
      end = until("*/", at + 2);
      prose = true;
    } else if (text.substr(at).starts_with("R\"")) {
      const size_t open = text.find('(', at);
      end = until(")" + std::string(text.substr(at + 2, open - at - 2)) + "\"", open);
    } else if (text[at] == '"' || (text[at] == '\'' && !(at > 0 && std::isalnum(text[at - 1])))) {
      while (end < text.size() && text[end] != text[at]) end += text[end] == '\\' ? 2 : 1;
      prose = text[at] == '"';
      end = std::min(end + 1, text.size());
    }
    if (prose) {
      const bool continues = joins && text[at] == '"';
      if (!continues && !text.substr(at).starts_with("//")) words.push_back({".", line});
      AddWords(text.substr(at, end - at), line, words);
      joins = true;
    } else if (!std::isspace(static_cast<unsigned char>(text[at]))) {
      joins = false;
      words.push_back({".", line});
    }
    line += static_cast<size_t>(std::count(text.begin() + static_cast<ptrdiff_t>(at),
                                           text.begin() + static_cast<ptrdiff_t>(std::min(end, text.size())),
                                           '\n'));
    at = end;
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
  struct SplitPhrase {
    std::vector<Word> words;
    const Phrase* phrase;
  };
  static const auto kByFirstWord = [] {
    std::unordered_map<std::string, std::vector<SplitPhrase>> phrases;
    for (const Phrase& phrase : kPhrases) {
      std::vector<Word> split = Split(phrase.words);
      phrases[split[0].text].push_back({std::move(split), &phrase});
    }
    return phrases;
  }();
  std::vector<Found> found;
  for (size_t at = 0; at < words.size(); ++at) {
    const auto phrases = kByFirstWord.find(words[at].text);
    if (phrases == kByFirstWord.end()) continue;
    for (const SplitPhrase& one : phrases->second) {
      if (Matches(words, at, one.words) && !IsAllowed(words, at))
        found.push_back({words[at].line, one.phrase});
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

TEST_CASE("literals are joined, and so are the lines of a comment") {
  const auto found = [](std::string_view text) { return Find(WordsOfSource(text)).size(); };
  CHECK(found("f(\"it stands by \"\n  \"itself\");") == 2);
  CHECK(found("int stands = '\\''; g(R\"(stands)\");") == 0);
  CHECK(found("// it stands by\n// itself\nint x;") == 2);
  CHECK(found("f(\"by\", \"itself\");") == 0);
}

TEST_CASE("pages use the glossary's words") {
  for (const fs::path& page : Pages()) Check(page, WordsOfPage(page));
}

TEST_CASE("sources, tables and messages use the glossary's words") {
  for (const fs::path& file : Sources()) {
    if (!kHaveNames.contains(file.generic_string())) Check(file, WordsOfSource(TextOf(file)));
  }
}

TEST_CASE("limits are kMax") {
  for (const fs::path& file : ProductSources())
    if (TextOf(file).contains("kMost")) FAIL_CHECK(file << ": write kMax, not kMost");
}
