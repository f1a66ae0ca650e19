// ggml's own operation tests (test-backend-ops) on the published CUDA backend; its reference is the package's CPU backend.
import {copyFileSync, existsSync, linkSync, mkdirSync, readdirSync, rmSync, writeFileSync} from "node:fs";
import {join} from "node:path";

import {LastLines, Run, RunOnPtx2cpu} from "./process.mjs";

const kMostAborts = 8;  // cases of one operation that may end the process before the rest is given up

export function CheckOperations(context) {
  const source = context.ggml && join(context.ggml, "tests/test-backend-ops.cpp");
  if (!source || !existsSync(source))
    return [{what: "operations", ran: false, right: false, measure: "--ggml-source names no checkout of ggml"}];
  const folder = Prepare(context, source);
  const operations = context.operations ?? ListOperations(folder);
  return operations.map((operation) => CheckOperation(context, folder, operation)).filter((row) => row !== undefined);
}

// The package's libraries and the test side by side, where ggml looks for its backends.
function Prepare(context, source) {
  const libraries = join(context.folder, "node_modules/@node-llama-cpp/linux-x64-cuda/bins/linux-x64-cuda");
  const folder = join(context.folder, "operations");
  const program = join(folder, "test-backend-ops");
  if (existsSync(program)) return folder;
  mkdirSync(folder, {recursive: true});
  for (const name of readdirSync(libraries).filter((each) => each.endsWith(".so"))) {
    rmSync(join(folder, name), {force: true});
    try {
      linkSync(join(libraries, name), join(folder, name));
    } catch {
      copyFileSync(join(libraries, name), join(folder, name));
    }
  }
  const ggml = readdirSync(folder).find((name) => /^libggml\.cuda\..*\.so$/.test(name));
  CheckHeaders(context, folder);
  Build(["-O1", `-I${context.ggml}/include`, `-I${context.ggml}/src`, source, "-o", program, join(folder, ggml),
         join(folder, "libggml-base.so"), "-Wl,-rpath,$ORIGIN", "-pthread"]);
  return folder;
}

function Build(words) {
  const build = Run(["g++", "-std=c++17", ...words], {seconds: 1200});
  if (build.status !== 0) throw new Error(`g++: ${LastLines(build.stderr, 6)}`);
}

// A checkout fits if it numbers the operations and types as the package does: the names of all numbers are compared, and
// there is no operation after the last.
function CheckHeaders(context, folder) {
  const probe = join(folder, "probe.cpp");
  const program = join(folder, "probe");
  const base = join(context.ggml, "src/ggml.c");
  writeFileSync(probe, `#include <cstdio>
#include "ggml.h"
int main() {
  for (int i = 0; i < GGML_OP_COUNT; ++i) std::printf("%s\\n", ggml_op_name((ggml_op)i));
}
`);
  Build([`-I${context.ggml}/include`, probe, "-o", program, join(folder, "libggml-base.so"), "-Wl,-rpath,$ORIGIN"]);
  const names = Run([program]).stdout.trim().split("\n");
  const table = Run(["sed", "-n", "/GGML_OP_NAME\\[GGML_OP_COUNT\\] = {/,/};/p", base]).stdout;
  const expected = [...table.matchAll(/"(\w+)",/g)].map((match) => match[1]);
  if (JSON.stringify(names) !== JSON.stringify(expected))
    throw new Error(`${context.ggml} is not of the package's version: it numbers operations differently`);
}

function ListOperations(folder) {
  const list = Run([join(folder, "test-backend-ops"), "--list-ops"], {folder});
  return list.stdout.split("\n").filter((line) => /^ {2}[A-Z0-9_]+$/.test(line)).map((line) => line.trim());
}

const Escaped = (text) => text.replace(/[[\]().*+?^$|\\{}]/g, "\\$&");

// {result, text} of each case in a run's output: ok, fail, unsupported, or open where the process ended.
function Cases(operation, output) {
  const text = `\n${output.replace(/\u001b\[[0-9;]*m/g, "")}`;
  const cases = new Map();
  for (const part of text.split(new RegExp(`\\n  (?=${operation}\\()`)).slice(1)) {
    const match = new RegExp(`^${operation}\\((.*?)\\): ?([^]*)`).exec(part);
    if (!match) continue;
    const body = match[2].split("Backend CUDA0")[0];
    const result = body.includes("not supported") ? "unsupported" : /\bOK\b/.test(body) ? "ok" : body.includes("FAIL") ? "fail" : "open";
    cases.set(match[1], {result, text: body.trim()});
  }
  return cases;
}

// A case that ends the process (ggml aborts when a launch is refused) is left out in the next run.
function CheckOperation(context, folder, operation) {
  const cases = new Map();
  const aborts = [];
  const begin = Date.now();
  let processor = 0;
  let timedOut = false;
  while (!timedOut && aborts.length < kMostAborts) {
    const left = context.seconds - (Date.now() - begin) / 1000;
    if (left < 2) {
      timedOut = true;
      break;
    }
    const filter = aborts.length === 0 ? [] : ["-p", `^(?!${aborts.map((each) => `(${Escaped(each)})`).join("|")})`];
    const run = RunOnPtx2cpu(context, [], ["./test-backend-ops", "test", "-b", "CUDA0", "-o", operation, ...filter],
                             {folder, seconds: Math.ceil(left)});
    processor += run.processor;
    timedOut = run.timedOut;
    let last;
    for (const [name, each] of Cases(operation, run.stdout + run.stderr)) {
      if (each.result === "open") last = name;
      else cases.set(name, each);
    }
    if (timedOut || last === undefined) break;
    aborts.push(last);
    cases.set(last, {result: "abort", text: LastLines(run.stderr || run.stdout)});
  }
  const Count = (result) => [...cases.values()].filter((each) => each.result === result).length;
  const passed = Count("ok");
  const all = passed + Count("fail") + aborts.length;
  if (all === 0 && !timedOut) return undefined;  // the backend has none of its cases
  const bad = [...cases].find(([, each]) => each.result === "fail" || each.result === "abort");
  const reached = timedOut ? `, of those reached in ${context.seconds} s` : "";
  return {what: operation, ran: all > 0, right: passed === all && all > 0, passed, cases: all,
          measure: `${passed} of ${all} cases${reached}${bad ? `; ${bad[0]}: ${bad[1].text.slice(0, 160)}` : ""}`, ours: processor};
}
