import { localChapters, sharedDifferences } from "../cluster-local/differences/index.ts";
import type { Difference } from "../differences/difference.ts";
import { chapters } from "../differences/index.ts";

const introduction = `# Where answers differ from CoreDNS 1.15

CoreDNS answers clusterset names inside a cluster, by the option \`multicluster\` of its plugin \`kubernetes\`. In import mode
this gateway answers from the same ServiceImports and EndpointSlices. An end-to-end test runs both on the same API servers,
sends both some thirty thousand queries, and demands the same code, flags, answer, SOA and, for SRV, additional section; the order of records,
the weight in SRV and the serial in SOA are left out. This page lists every difference, with its reason. The test generates it from the table with which it
compares every answer, so a new or missing difference fails the test.

In the examples an SRV record shows priority, port and target; "with" marks the additional section. "MCS" is the specification of multicluster DNS,
version 1.0.0; [names-and-records.md](../reference/names-and-records.md) has the gateway's answers as a whole. [The second part](#where-answers-differ-in-a-clusters-own-zone) is about a
cluster's own zone.
`;

const localIntroduction = `# Where answers differ in a cluster's own zone

With \`sync --cluster-zone cluster.local\` the gateway answers a cluster's own names in that cluster's view, as CoreDNS does in the
cluster. A second end-to-end test compares the two on one API server in the same way: some twenty thousand queries in
each of the modes \`pods disabled\`, \`insecure\` and \`verified\`. "DNS" is the specification of DNS-based service discovery, version 1.0.1.

## As in the clusterset zone

These differences are the same as above, for the same reasons:
`;

/** docs/explanation/coredns-differences.md, from the tables of differences of both zones. */
export function renderDocument(): string {
  return [
    introduction,
    ...renderChapters(chapters),
    localIntroduction,
    ...sharedDifferences.map(renderShortly),
    "",
    ...renderChapters(localChapters),
  ].join("\n");
}

function renderChapters(of: readonly { title: string; differences: readonly Description[] }[]): string[] {
  return of.flatMap(({ title, differences }) => [`## ${title}\n`, ...differences.map(renderDifference)]);
}

type Description = Pick<Difference, "title" | "corednsSays" | "weSay" | "reason" | "example">;

function renderShortly({ title, example: { question, coredns, ours } }: Description): string {
  return `- ${title}: \`${question.name} ${question.type}\` is ${inline(coredns)} there and ${inline(ours)} here.`;
}

function renderDifference({ title, corednsSays, weSay, reason, example }: Description): string {
  const { question, coredns, ours } = example;
  return [
    `### ${title}\n`,
    `- **CoreDNS**: ${corednsSays}`,
    `- **Here**: ${weSay}`,
    `- **Why**: ${reason}\n`,
    "```text",
    `${question.name} ${question.type}`,
    `CoreDNS: ${indent(coredns)}`,
    `here:    ${indent(ours)}`,
    "```\n",
  ].join("\n");
}

function indent(text: string): string {
  return text.replaceAll("\n", `\n${" ".repeat("CoreDNS: ".length)}`);
}

function inline(answer: string): string {
  return /^[A-Z]+$/.test(answer) ? answer : `\`${answer}\``;
}
