// Bare PTX text: recognition, and its .version and .target, without a parser.
#pragma once

#include <string_view>

#include "ptx-parser/fatbin/fatbin.h"

namespace ptx2cpu::ptx::fatbin {

// True if the text begins, after blanks and comments, with ".version".
bool StartsAsPtx(std::string_view text);
// True where the first 4 KiB have no control characters: text of some kind.
bool LooksLikeText(std::string_view text);
// Fills version and target of the image as far as the text states them.
void ReadPtxHeader(std::string_view text, Image& image);

}  // namespace ptx2cpu::ptx::fatbin
