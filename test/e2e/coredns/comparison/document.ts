import { localChapters, sharedDifferences } from "../cluster-local/differences/index.ts";
import type { Difference } from "../differences/difference.ts";
import { chapters } from "../differences/index.ts";

const introduction = `# Where answers differ from CoreDNS 1.15

CoreDNS answers clusterset names inside a cluster, by the option \`multicluster\` of its plugin \`kubernetes\`. In import mode
this gateway answers from the same ServiceImports and EndpointSlices. An end-to-end test sends some thirty thousand queries to both, and demands the same code, flags, answer, SOA and,
for SRV, additional section. It leaves out the order of records, the weight in SRV and the serial in SOA. The test generates this page from the table with which it compares
every answer, so a new or missing difference fails it.

"MCS" is the specification of multicluster DNS, version 1.0.0. [Names and records](../reference/names-and-records.md) has the gateway's answers as a whole.
`;

const localIntroduction = `# Where answers differ in a cluster's own zone

With \`sync --cluster-zone cluster.local\` the gateway answers a cluster's own names in that cluster's view, as CoreDNS does in the
cluster. A second end-to-end test compares the two in the same way: some twenty thousand queries in
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
  return of.flatMap(({ title, differences }) => [
    `## ${title}\n`,
    "| query, and one of them | CoreDNS | here | why |",
    "| --- | --- | --- | --- |",
    ...differences.map(renderDifference),
    "",
  ]);
}

type Description = Pick<Difference, "title" | "corednsSays" | "weSay" | "reason" | "example">;

function renderShortly({ title }: Description): string {
  return `- ${title}`;
}

function renderDifference({ title, corednsSays, weSay, reason, example: { question } }: Description): string {
  const query = `${title}: \`${question.name} ${question.type}\``;
  return `| ${[query, corednsSays, weSay, reason].map((text) => text.replaceAll("|", "\\|")).join(" | ")} |`;
}
