import { CONNECTIONS, STREAMS } from "../cpu/h2load.ts";
import type { Effort, Progress, Section, Table } from "../report/report.ts";
import { type Contender, measureInTurns } from "../report/rounds.ts";
import { encodeQuery } from "../resolve/cases.ts";
import { ASKED, LOADED_WORLD, queryOf } from "../worlds/asked.ts";
import { type AskedGateway, type Certificates, makeCertificates, startAsked } from "./gateway.ts";
import { makeModes } from "./modes.ts";

const REQUESTS = 20_000;
/** Node's compilers need this many before a query costs what it will cost from then on. */
const WARM_UP = 60_000;

/** The cost of admission, and whether hidden names cost the same as missing ones. */
export const accessSection: Section = {
  name: "access",
  summary: "CPU time for each DoH query, by how clients show who they are; of hidden names and of none",
  async measure(effort, progress) {
    const certificates = await makeCertificates();
    return [
      await measureModes(certificates, effort, progress),
      await measureHidden(certificates, effort, progress),
    ];
  },
};

async function measureModes(
  certificates: Certificates,
  { rounds, share }: Effort,
  progress: Progress,
): Promise<Table> {
  const queries = ASKED.map((index) => toParameter(queryOf(index)));
  const requests = REQUESTS * share;
  const gateways: AskedGateway[] = [];
  const contenders: Contender[] = [];
  try {
    for (const mode of await makeModes(certificates.authority)) {
      progress(`${mode.name}: starting a gateway and warming it up`);
      const gateway = await startAsked(mode, certificates);
      gateways.push(gateway);
      await gateway.measure(WARM_UP * share, queries);
      contenders.push({ name: mode.name, unit: "µs", measure: () => gateway.measure(requests, queries) });
    }
    return {
      title: "CPU time for each DoH query by credential, GET over HTTP/2 with TLS",
      rows: await measureInTurns(contenders, rounds, progress),
      baselines: ["public"],
      goals: [],
      notes: [
        `User and system time of a gateway of its own for each row, for ${requests.toLocaleString("en")} requests (${CONNECTIONS} connections that stay open, ${STREAMS} streams each): type A, ${ASKED.length} names in turn, ${LOADED_WORLD.services} services.`,
        "The scope is everything. Tokens are compared with all that the rule has; an OIDC token (RS256) is verified once and remembered until it expires.",
      ],
    };
  } finally {
    for (const { stop } of gateways) await stop();
  }
}

const HIDDEN = "hidden names";
const ABSENT = "names that are nowhere";

/**
 * Names of the same lengths: those of `team-2`, which the scope hides, and those of `team-7`, which is
 * nowhere.
 */
async function measureHidden(
  certificates: Certificates,
  { rounds, share }: Effort,
  progress: Progress,
): Promise<Table> {
  progress("hidden names: starting a gateway and warming it up");
  const access = { public: { namespaces: ["team-1"] } };
  const gateway = await startAsked({ access, asking: { path: "/dns-query" } }, certificates);
  const requests = REQUESTS * share;
  const queriesIn = (namespace: string) =>
    Array.from({ length: 100 }, (_, index) =>
      toParameter(encodeQuery(`service-${200 + index}.${namespace}.svc.clusterset.local`, "A")),
    );
  const contenders = [
    { name: HIDDEN, queries: queriesIn("team-2") },
    { name: ABSENT, queries: queriesIn("team-7") },
  ].map(({ name, queries }) => ({ name, unit: "µs", measure: () => gateway.measure(requests, queries) }));
  try {
    for (const { measure } of contenders) await measure();
    return {
      title: "CPU time for each query for a hidden name, and for a missing one",
      rows: await measureInTurns(contenders, rounds * 2, progress),
      baselines: [ABSENT],
      goals: [],
      notes: ["One gateway and one scope; both are NXDOMAIN, from a generation that has neither."],
    };
  } finally {
    await gateway.stop();
  }
}

function toParameter(query: Uint8Array): string {
  return Buffer.from(query).toString("base64url");
}
