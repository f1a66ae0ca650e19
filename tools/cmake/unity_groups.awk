# awk -v most=N -f unity_groups.awk SOURCE...: puts sources into groups of at most N that can be compiled as one file. Prints
# "GROUP SOURCE" lines. Names of a source's own (those of its unnamed namespaces, its constants, aliases and macros) must not be words of
# another source in its group, and all sources of a group must have the same using-directives.
FNR == 1 { own = 0; raw = 0; files[++count] = FILENAME; here = FILENAME }
# Raw strings are text, often that of a kernel.
raw { if ($0 !~ /\)"/) next; raw = 0 }
/R"\(/ && $0 !~ /R"\(.*\)"/ { raw = 1 }
/^namespace \{/ { own = 1 }
/^}  \/\/ namespace$/ { own = 0 }
{
  line = $0
  sub(/\/\/.*/, "", line)
  if (line ~ /^using namespace /) { directives[here] = directives[here] line; next }
  if (line ~ /^#define /) Declare($2, line)
  else if (line ~ /^using [A-Za-z0-9_:]*::[A-Za-z0-9_]+;/) { name = line; gsub(/^.*::|;.*$/, "", name); Declare(name, line) }
  else if (line ~ /^(using|namespace) [A-Za-z0-9_]+ =/) Declare($2, line)
  else if (line ~ /^(constexpr|const|static|thread_local) / || own && line ~ /^[A-Za-z_]/ && line !~ /^(namespace|static_assert|TEST_CASE)/) DeclareFirst(line)
  # Words, but not of another scope.
  gsub(/(::|\.|->)[A-Za-z_][A-Za-z0-9_]*/, " ", line)
  parts = split(line, word, /[^A-Za-z0-9_]+/)
  for (i = 1; i <= parts; ++i) words[here, word[i]] = 1
}
END {
  for (i = 1; i <= count; ++i) {
    for (g = 1; g <= groups; ++g) if (Fits(files[i], g)) break
    if (g > groups) groups = g
    member[g, ++size[g]] = files[i]
    print g, files[i]
  }
}
# The name before the first of ( = [ { ; is what a line declares.
function DeclareFirst(text,   name) {
  name = text
  gsub(/::/, "$", name)
  sub(/ *(\(|=|\[|\{|;|:).*/, "", name)
  if (name ~ /\$[A-Za-z0-9_~]+$/) return
  sub(/^.*[^A-Za-z0-9_]/, "", name)
  if (name != "" && name !~ /^(struct|class|enum|union)$/) Declare(name, text)
}
function Declare(name, text) {
  sub(/\(.*/, "", name)
  owned[here] = owned[here] " " name
  text_of[here, name] = text
}
function Fits(file, g,   k) {
  if (size[g] >= most) return 0
  for (k = 1; k <= size[g]; ++k)
    if (directives[file] != directives[member[g, k]] || Meet(file, member[g, k]) || Meet(member[g, k], file)) return 0
  return 1
}
# Whether a name of `a` is a word of `b`. Both may have the same alias; what a using-declaration names may be a word of `b` unless `b`
# declares it otherwise.
function Meet(a, b,   n, i, name) {
  n = split(owned[a], name, " ")
  for (i = 1; i <= n; ++i)
    if ((b, name[i]) in words && !((b, name[i]) in text_of ? text_of[a, name[i]] ~ /^using .*::|^namespace .*=/ && text_of[a, name[i]] == text_of[b, name[i]] : text_of[a, name[i]] ~ /^using .*::/))
      return 1
  return 0
}
