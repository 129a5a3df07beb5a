/** `npm run test:soak`: the tests that are too long, or need too much, for each change. */
import { spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { CLUSTER_TOOLS, ISOLATED } from "../control/conformance/isolated.ts";
import { ensureTools } from "../servers/tools/tools.ts";
import { runVitest } from "./vitest.ts";

/** One that `npm run test:soak -- <name>` runs. */
interface Soak {
  readonly shows: string;
  /** It is ended after this, and has failed. */
  readonly minutes: number;
  readonly files: readonly string[];
  /** What makes tests of CI longer here. */
  readonly env?: Readonly<Record<string, string>>;
  /** It runs as root in namespaces of its own, with whole clusters. */
  readonly isIsolated?: true;
  /** Variables that get a new seed, unless they are set. */
  readonly seeds?: readonly string[];
}

const E2E = "test/e2e";
const soaks: Readonly<Record<string, Soak>> = {
  frames: {
    shows: "a million mutated sequences of HTTP/2 frames",
    minutes: 90,
    files: ["test/hosts/server/http2/mutated-frames.test.ts"],
    env: { ABUSE_SEQUENCES: "1000000" },
    seeds: ["ABUSE_SEED"],
  },
  queries: {
    shows: "a million mutated queries, judged by a slow model",
    minutes: 60,
    files: ["test/resolve/hostile/hostile-queries.test.ts"],
    env: { ABUSE_QUERIES: "1000000" },
    seeds: ["ABUSE_SEED"],
  },
  attacks: {
    shows: "malformed HTTP/1.1, plain DNS and DNS over TLS, in full number",
    minutes: 40,
    files: [
      `${E2E}/abuse/connections/http1-attacks.e2e.test.ts`,
      `${E2E}/abuse/queries/plain-dns-attacks.e2e.test.ts`,
    ],
    env: { ABUSE_SEQUENCES: "20000" },
    seeds: ["ABUSE_SEED"],
  },
  "hostile-churn": {
    shows: "a cluster that pushes whatever it may, as often as it may, beside healthy ones",
    minutes: 25,
    files: [`${E2E}/abuse/pushes/hostile-churn.soak.test.ts`],
    env: { CHURN_MINUTES: "15" },
    seeds: ["ABUSE_SEED"],
  },
  chaos: {
    shows: "five gateways with one Redis, 100 rounds of faults",
    minutes: 20,
    files: [`${E2E}/replica/many/chaos.e2e.test.ts`],
    env: { CHAOS_ROUNDS: "100", CHAOS_GATEWAYS: "5" },
    seeds: ["CHAOS_SEED"],
  },
  failover: {
    shows: "gateways behind Sentinels, 20 changes of the master",
    minutes: 30,
    files: [`${E2E}/replica/many/failover.e2e.test.ts`],
    env: { FAILOVER_ROUNDS: "20" },
    seeds: ["CHAOS_SEED"],
  },
  control: {
    shows: "400 random steps of the control plane in two clusters",
    minutes: 40,
    files: [`${E2E}/control/any-sequence.e2e.test.ts`],
    env: { CONTROL_STEPS: "400" },
    seeds: ["CONTROL_SEED"],
  },
  connectivity: {
    shows: "TCP connections of pods between two whole clusters",
    minutes: 20,
    files: [`${E2E}/control/conformance/connectivity.soak.test.ts`],
    env: { E2E_ISOLATED: "1" },
    isIsolated: true,
  },
  tutorial: {
    shows: "the tutorial of multi-cluster services, with controllers of Kubernetes",
    minutes: 20,
    files: [`${E2E}/control/tutorial.soak.test.ts`],
  },
  programs: {
    shows: "h2spec, Caddy, dnsproxy, Firefox, and HTTP/2 clients of four languages",
    minutes: 40,
    files: [
      `${E2E}/abuse/http2/h2spec.soak.test.ts`,
      `${E2E}/access/behind-caddy.soak.test.ts`,
      `${E2E}/clients/resolvers/dnsproxy.soak.test.ts`,
      `${E2E}/clients/firefox.soak.test.ts`,
      `${E2E}/clients/early-answers.soak.test.ts`,
      `${E2E}/clients/http2/large-bodies.soak.test.ts`,
    ],
  },
  properties: {
    shows: "every property of the unit tests with ten times its runs and new seeds",
    minutes: 120,
    files: ["test/"],
    env: { PROPERTY_RUNS: "10" },
  },
};

const list = Object.entries(soaks)
  .map(([name, { shows, minutes }]) => `  ${name.padEnd(14)} ${shows} (at most ${minutes} min)`)
  .join("\n");
const help = `npm run test:soak -- [--help] NAME…

Runs tests that are too long, or need too much, for each change. What they need is installed or built when they start.

${list}
  mutation       changes the code and lists what the tests do not notice: npm run mutate -- --help

Example:
  npm run test:soak -- chaos failover

Each run has new seeds and prints them; ABUSE_SEED=7 and the like repeat one. A seed that fails becomes a case that CI runs.
`;

const names = process.argv.slice(2);
const unknown = names.filter((name) => !(name in soaks) && name !== "mutation" && !name.startsWith("-"));
if (names.length === 0 || names.includes("--help") || names.includes("-h")) console.log(help);
else if (unknown.length > 0) {
  console.error(`there is no soak ${unknown.join(", ")}\n\n${help}`);
  process.exitCode = 2;
} else for (const name of names) if ((await run(name)) !== 0) process.exitCode = 1;

async function run(name: string): Promise<number> {
  if (name === "mutation") return mutate();
  const { files, minutes, env = {}, seeds = [], isIsolated } = soaks[name]!;
  // In there nothing can be fetched.
  if (isIsolated) await ensureTools(CLUSTER_TOOLS, console.error);
  const seeded = seeds.map((seed) => [seed, process.env[seed] ?? String(randomInt(2 ** 31))] as const);
  const all = { ...env, ...Object.fromEntries(seeded) };
  const settings = Object.entries(all).map(([key, value]) => `${key}=${value}`);
  console.log(`== ${[name, ...settings].join(" ")}`);
  const started = performance.now();
  const projects = new Set(files.map((file) => /\.(e2e|soak)\.test\.ts$/.exec(file)?.[1] ?? "unit"));
  const code = await runVitest([...[...projects].map((project) => `--project=${project}*`), ...files], {
    env: all,
    ...(isIsolated && { under: ISOLATED }),
    boundMs: minutes * 60_000,
  });
  console.log(
    `== ${name}: ${code === 0 ? "passed" : "failed"} after ${Math.round((performance.now() - started) / 1000)} s`,
  );
  return code;
}

function mutate(): Promise<number> {
  const child = spawn("npm", ["run", "mutate"], { stdio: "inherit" });
  return new Promise((resolve) => child.once("exit", (code) => resolve(code ?? 1)));
}
