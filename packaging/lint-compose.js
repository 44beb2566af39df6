// Checks what Docker would refuse in a compose file: YAML, keys, references between services and volumes, and the target
// of the Dockerfile. Usage: node lint-compose.js FILE
"use strict";
const { readFileSync } = require("node:fs");
const { dirname, resolve } = require("node:path");
const { parseDocument } = require("yaml");

const [file] = process.argv.slice(2);
const document = parseDocument(readFileSync(file, "utf8"), { merge: true, strict: true, uniqueKeys: true });
const findings = document.errors.map((error) => error.message);
const compose = document.toJS() ?? {};
const serviceKeys = [
  "build", "cap_drop", "command", "configs", "depends_on", "environment", "healthcheck", "hostname", "image", "init",
  "ports", "restart", "security_opt", "stop_grace_period", "volumes",
];
for (const [name, service] of Object.entries(compose.services ?? {})) {
  for (const key of Object.keys(service)) {
    if (!serviceKeys.includes(key)) findings.push(`${name}: unknown key ${key}`);
  }
  for (const volume of service.volumes ?? []) {
    // With the default of a variable: `${WORKSPACE:-workspace}:/workspace`.
    const source = volume.replace(/\$\{\w+:-([^}]*)\}/g, "$1").split(":")[0];
    if (source.startsWith(".")) findings.push(`${name}: Docker creates ${source} for root, if it does not exist`);
    if (/^[a-z][\w-]*$/.test(source) && !(source in (compose.volumes ?? {}))) {
      findings.push(`${name}: the volume ${source} is not declared`);
    }
  }
  for (const config of service.configs ?? []) {
    if (!(config.source in (compose.configs ?? {}))) findings.push(`${name}: the config ${config.source} is not declared`);
  }
  const needed = service.depends_on ?? [];
  for (const other of Array.isArray(needed) ? needed : Object.keys(needed)) {
    if (!(other in compose.services)) findings.push(`${name}: there is no service ${other}`);
  }
  for (const port of service.ports ?? []) {
    if (!/^[\d.]+:\d+:\d+$/.test(port)) findings.push(`${name}: ${port} is reachable from other machines`);
  }
  if (service.build) {
    const context = resolve(dirname(file), service.build.context);
    const stages = readFileSync(resolve(context, service.build.dockerfile), "utf8").matchAll(/^FROM \S+ AS (\S+)$/gm);
    const names = [...stages].map((stage) => stage[1]);
    if (!names.includes(service.build.target)) findings.push(`${name}: there is no stage ${service.build.target}`);
  }
}
if (Object.keys(compose.services ?? {}).length === 0) findings.push("there is no service");
for (const finding of findings) console.error(`${file}: ${finding}`);
process.exit(findings.length === 0 ? 0 : 1);
