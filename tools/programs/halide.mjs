// Halide's Python package: pipelines for its CUDA target beside the same ones for the processor.
import {mkdirSync} from "node:fs";
import {join} from "node:path";

import {LastLines, Run, RunOnPtx2cpu} from "./process.mjs";

const kPipelines = ["tiles", "reduction", "partial_maxima", "warp_shuffles", "product", "histogram"];
const kMaxDifference = 1e-5;  // of floats, relative; the two targets add up in other orders

const Difference = (one, other) => Math.abs(one - other) / Math.max(Math.abs(one), 1e-9);

export function CheckHalide(context) {
  const folder = join(context.folder, "halide");
  mkdirSync(folder, {recursive: true});
  const Words = (target) => ["/usr/bin/python3", join(context.scripts, "halide_pipelines.py"), target];
  const On = () => RunOnPtx2cpu(context, [], Words("cuda"), {folder});
  On();  // the first run compiles
  const ours = On(), theirs = Run(Words("host"), {folder});
  if (ours.status !== 0 || theirs.status !== 0)
    return [{what: "pipelines", ran: false, right: false, measure: LastLines((ours.status !== 0 ? ours : theirs).stderr)}];
  const actual = JSON.parse(ours.stdout), expected = JSON.parse(theirs.stdout);
  return kPipelines.map((what) => {
    const largest = Math.max(...expected[what].map((value, n) => Difference(value, actual[what][n])));
    const exact = expected[what].every(Number.isInteger);
    return {what, ran: true, right: actual[what].length === expected[what].length && largest <= (exact ? 0 : kMaxDifference),
            measure: largest === 0 ? "equal to the CPU target's" : `largest relative difference from the CPU target ${largest.toExponential(1)}`};
  });
}
