# awk -v most=N [-v rename=1] -f unity_groups.awk SOURCE...: puts sources into groups of at most N that can be compiled as one file.
# Prints "GROUP SOURCE" lines. Names of a source's own (those of its unnamed namespaces, its constants, aliases and macros) must not be
# words of another source in its group, and all sources of a group must have the same using-directives. With `rename`, a line goes on with
# the names that get others within the source, so that they may be words elsewhere: those that it never uses as names of another scope.
FNR == 1 { DeclareMacros(); own = 0; raw = 0; continues = 0; files[++count] = FILENAME; here = FILENAME }
# Raw strings are text, often that of a kernel.
raw { if ($0 !~ /\)"/) next; raw = 0 }
/R"\(/ && $0 !~ /R"\(.*\)"/ { raw = 1 }
/^namespace \{/ { own = FNR; declarations = 0; open = 0 }
# One of a single declaration, which may take several lines, ends without a comment.
/^}  \/\/ namespace$/ || /^}$/ && declarations == 1 && open == 0 { own = 0 }
own && FNR > own {
  if (/^[^ \t]/) ++declarations
  code = $0
  sub(/\/\/.*/, "", code)
  open += gsub(/\{/, "", code) - gsub(/\}/, "", code)
}
{
  line = $0
  sub(/\/\/.*/, "", line)
  if (line ~ /^using namespace /) { directives[here] = directives[here] line; next }
  # A table undefines the macros that are defined right before it.
  if (line ~ /^#include .*[.]def"/) macros = 0
  else if (line !~ /^#define / && !continues) DeclareMacros()
  continues = line ~ /\\$/
  if (line ~ /^#define /) { macro[++macros] = $2; macro_line[macros] = line }
  else if (line ~ /^using [A-Za-z0-9_:]*::[A-Za-z0-9_]+;/) { name = line; gsub(/^.*::|;.*$/, "", name); Declare(name, line) }
  else if (line ~ /^(using|namespace) [A-Za-z0-9_]+ =/) Declare($2, line)
  else if (line ~ /^(constexpr|static|thread_local) / || line ~ /^const [^(]*(=|;|\{)/ || own && line ~ /^[A-Za-z_]/ && line !~ /^(namespace|static_assert|TEST_CASE)/) DeclareFirst(line)
  # A function that other sources may call keeps its name, also where a function of the source has the same
  # name.
  else if (line ~ /^[A-Za-z_].*\(/ && FirstOf(line) != "") scoped[here, FirstOf(line)] = 1
  # Words, but not of another scope.
  for (rest = line; match(rest, /(::|\.|->)[A-Za-z_][A-Za-z0-9_]*/); rest = substr(rest, RSTART + RLENGTH)) {
    name = substr(rest, RSTART, RLENGTH)
    sub(/^[^A-Za-z_]*/, "", name)
    scoped[here, name] = 1
  }
  gsub(/(::|\.|->)[A-Za-z_][A-Za-z0-9_]*/, " ", line)
  parts = split(line, word, /[^A-Za-z0-9_]+/)
  for (i = 1; i <= parts; ++i) words[here, word[i]] = 1
}
# Sources that meet most others come first, each into the smallest group that it fits (Welsh and Powell 1967).
END {
  DeclareMacros()
  for (i = 1; i <= count; ++i)
    for (k = 1; k < i; ++k)
      if (directives[files[i]] != directives[files[k]] || Meet(files[i], files[k]) + Meet(files[k], files[i]) > 0) {
        apart[i, k] = apart[k, i] = 1
        ++others[i]
        ++others[k]
      }
  groups = int((count + most - 1) / most)
  for (n = 1; n <= count; ++n) {
    i = 0
    for (k = 1; k <= count; ++k) if (!(k in group) && (i == 0 || others[k] > others[i])) i = k
    g = 0
    for (k = 1; k <= groups; ++k) if (Fits(i, k) && (g == 0 || size[k] < size[g])) g = k
    if (g == 0) g = ++groups
    group[i] = g
    member[g, ++size[g]] = i
    print g, files[i] renamed[files[i]]
  }
}
function DeclareMacros() {
  for (; macros > 0; --macros) {
    Declare(macro[macros], macro_line[macros])
    scoped[here, macro[macros]] = 1
  }
}
# The name before the first of ( = [ { ; is what a line declares; "" where it is one of a scope.
function FirstOf(text,   name) {
  name = text
  gsub(/::/, "$", name)
  sub(/ *(\(|=|\[|\{|;|:).*/, "", name)
  if (name ~ /\$[A-Za-z0-9_~]+$/) return ""
  sub(/^.*[^A-Za-z0-9_]/, "", name)
  return name ~ /^(struct|class|enum|union)$/ ? "" : name
}
function DeclareFirst(text,   name) {
  name = FirstOf(text)
  if (name != "") Declare(name, text)
}
function Declare(name, text) {
  sub(/\(.*/, "", name)
  owned[here] = owned[here] " " name
  text_of[here, name] = text
}
function Fits(i, g,   n) {
  if (size[g] >= most) return 0
  for (n = 1; n <= size[g]; ++n) if ((i, member[g, n]) in apart) return 0
  return 1
}
# Whether a name of `a` is a word of `b`. Both may have the same alias; what a using-declaration or an alias of a namespace
# names may be a word of `b` unless `b` declares it otherwise.
function Meet(a, b,   n, i, name, meets) {
  n = split(owned[a], name, " ")
  for (i = 1; i <= n; ++i) {
    if (!((b, name[i]) in words)) continue
    if ((b, name[i]) in text_of ? text_of[a, name[i]] ~ /^using .*::|^namespace .*=/ && text_of[a, name[i]] == text_of[b, name[i]] : text_of[a, name[i]] ~ /^using .*::|^namespace .*=/) continue
    if (!rename || (a, name[i]) in scoped) meets = 1
    else if (!((a, name[i]) in has_other)) {
      has_other[a, name[i]] = 1
      renamed[a] = renamed[a] " " name[i]
    }
  }
  return meets + 0
}
