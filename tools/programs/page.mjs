// The page tools/docs/real_programs.md, and its head in README.md.
import {writeFileSync} from "node:fs";
import {cpus} from "node:os";

const Seconds = (value) => (value === undefined ? "-" : value < 0.095 ? value.toFixed(3) : value.toFixed(2));
const Ratio = ({ours, theirs}) => (ours && theirs ? (theirs / ours).toFixed(2) : "-");

function Rows(rows) {
  return rows.map((row) => `| ${row.what} | ${row.ran ? "yes" : "no"} | ${row.right ? "yes" : "no"} | ${row.measure.replaceAll("|", "/")} | ` +
                           `${Seconds(row.ours)} | ${Seconds(row.theirs)} | ${Ratio(row)} |`);
}

// Operations: the counts add up in the summary.
function Summary(program) {
  const right = program.rows.filter((row) => row.right).length;
  const ran = program.rows.filter((row) => row.ran).length;
  const cases = program.rows.reduce((sum, row) => sum + (row.passed ?? 0), 0);
  const all = program.rows.reduce((sum, row) => sum + (row.cases ?? 0), 0);
  const counts = all > 0 ? `; ${cases} of ${all} cases that were reached` : "";
  return `| ${program.name} | ${program.from} | ${ran} of ${program.rows.length} | ${right} of ${program.rows.length}${counts} |`;
}

export function WritePage(file, programs) {
  const lines = [
    "# Published CUDA programs",
    "",
    "Binaries as their publishers built them, through `ptx2cpu exec`, by `tools/real_programs`. Times are seconds of processor time of all",
    "threads with compiled kernels in the cache; the last column is the time of the program's own CPU path divided by ours.",
    "",
    `- machine: ${cpus()[0].model.trim()}, ${cpus().length} threads`,
    `- date: ${new Date().toISOString().slice(0, 10)}`,
    "",
    "| program | from | ran | right |",
    "|---|---|---|---|",
    ...programs.filter((program) => program.rows.length > 0).map(Summary),
    "",
  ];
  for (const program of programs) {
    if (program.rows.length === 0) continue;
    lines.push(`## ${program.name}`, "", "| what | ran | right | by what measure | ours | CPU path | ratio |", "|---|---|---|---|---|---|---|",
               ...Rows(program.rows), "");
  }
  writeFileSync(file, lines.join("\n"));
}
