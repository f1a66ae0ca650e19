// llama.cpp with all layers on the device, beside the same package's CPU backend: logits, tokens, times of one thread.
import {existsSync, linkSync, mkdirSync, rmSync} from "node:fs";
import {join} from "node:path";

import {shapes, WriteModel} from "./model.mjs";
import {LastLines, Node, Run, RunOnPtx2cpu} from "./process.mjs";

const kTypes = ["f16", "q8_0", "q4_0", "q4_k"];
const kMostError = 1e-3;  // normalised mean squared error of the logits

// Each row: the package's CUDA library and exec's options.
const builds = [
  {name: "linux-x64-cuda", Folder: (context) => context.folder, options: []},
  {name: "linux-x64-cuda-ext, --sm 61", Folder: ExtFolder, options: ["--sm", "61"]},
];

// The package for older GPUs holds only libggml-cuda.so, which takes the place of the main package's.
function ExtFolder(context) {
  const folder = join(context.folder, "ext");
  const library = "@node-llama-cpp/linux-x64-cuda/bins/linux-x64-cuda/libggml-cuda.so";
  if (existsSync(folder)) return folder;
  mkdirSync(folder, {recursive: true});
  Run(["cp", "-al", join(context.folder, "node_modules"), folder]);  // links: the libraries are large
  rmSync(join(folder, "node_modules", library));
  linkSync(join(context.folder, "node_modules/@node-llama-cpp/linux-x64-cuda-ext/bins/linux-x64-cuda/fallback/libggml-cuda.so"),
           join(folder, "node_modules", library));
  return folder;
}

function Model(context, shape, type, exact = false) {
  const folder = join(context.folder, "models");
  mkdirSync(folder, {recursive: true});
  const file = join(folder, `${shape}_${type}${exact ? "_exact" : ""}.gguf`);
  if (!existsSync(file)) WriteModel(file, shapes[shape], type, {exact});
  return file;
}

// The program's answer, or {failure}. exec's options null: the CPU backend, without ptx2cpu.
function Generate(context, folder, execOptions, settings) {
  const words = [Node(context), join(context.scripts, "generate.mjs"), folder, JSON.stringify({...settings, gpu: execOptions !== null})];
  const run = execOptions === null ? Run(words) : RunOnPtx2cpu(context, ["--threads", "1", ...execOptions], words, {});
  const line = run.stdout.split("\n").find((each) => each.startsWith('{"gpu"'));
  return run.status === 0 && line ? JSON.parse(line) : {failure: LastLines(run.stderr) || `exit code ${run.status}`};
}

function Error(expected, actual) {
  let difference = 0;
  let size = 0;
  expected.forEach((row, i) => row.forEach((value, token) => {
    difference += (value - actual[i][token]) ** 2;
    size += value * value;
  }));
  return difference / size;
}

const Same = (a, b) => JSON.stringify(a.rounds[0].generated) === JSON.stringify(b.rounds[0].generated);

function CheckLogits(context, build, type) {
  const what = `${build.name}: two layers, ${type}`;
  const settings = {model: Model(context, "two_layers", type), rounds: 3};
  const theirs = Generate(context, context.folder, null, settings);
  const ours = Generate(context, build.Folder(context), build.options, settings);
  const failure = ours.failure ?? theirs.failure;
  if (failure) return {what, ran: false, right: false, measure: failure};
  const error = Error(theirs.logits, ours.logits);
  // How far the CPU backend itself is from these weights: both backends round activations, differently.
  const exact = Generate(context, context.folder, null, {...settings, model: Model(context, "two_layers", type, true)});
  const [ofCpu, ofOurs] = [Error(exact.logits, theirs.logits), Error(exact.logits, ours.logits)];
  const Total = (result) => result.rounds.at(-1).prompt.processor + result.rounds.at(-1).tokens.processor;
  return {what, ran: ours.gpu === "cuda", right: error <= kMostError,
          measure: `NMSE of logits ${error.toExponential(1)} beside the CPU backend (from the exact weights: ours ${ofOurs.toExponential(1)}, ` +
                   `CPU ${ofCpu.toExponential(1)}); ${Same(ours, theirs) ? "same" : "other"} tokens`,
          ours: Total(ours), theirs: Total(theirs)};
}

function CheckSpeed(context, build, type) {
  const settings = {model: Model(context, "m100", type), rounds: 3, prompt: 128, tokens: 16, vocabulary: 30000, every: 32};
  const theirs = Generate(context, context.folder, null, settings);
  Generate(context, build.Folder(context), build.options, {...settings, logits: false});  // compiles
  const ours = Generate(context, build.Folder(context), build.options, settings);
  const failure = ours.failure ?? theirs.failure;
  if (failure) return [{what: `${build.name}: 100 million weights, ${type}`, ran: false, right: false, measure: failure}];
  const error = Error(theirs.logits, ours.logits);
  const [a, b] = [ours.rounds.at(-1), theirs.rounds.at(-1)];
  const Row = (part, count) => ({what: `${build.name}: 100 million weights, ${type}, ${part}`, ran: true, right: error <= kMostError,
                                 measure: `NMSE of logits ${error.toExponential(1)}; ${(count / a[part].processor).toFixed(1)} tokens/s beside ` +
                                          `${(count / b[part].processor).toFixed(1)}`,
                                 ours: a[part].processor, theirs: b[part].processor});
  return [Row("prompt", settings.prompt), Row("tokens", settings.tokens)];
}

export function CheckLlama(context) {
  const rows = builds.flatMap((build) => kTypes.map((type) => CheckLogits(context, build, type)));
  if (!context.speed) return rows;
  return [...rows, ...builds.flatMap((build) => ["q8_0", "q4_k", "f16"].flatMap((type) => CheckSpeed(context, build, type)))];
}
