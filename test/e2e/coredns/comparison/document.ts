import { localChapters, sharedDifferences } from "../cluster-local/differences/index.ts";
import type { Difference } from "../differences/difference.ts";
import { chapters } from "../differences/index.ts";

const introduction = `# Where answers differ from CoreDNS 1.15

An end-to-end test sends some thirty thousand queries to CoreDNS, with the option \`multicluster\`, and to this gateway in import mode, on the same objects. It demands the same
code, flags, answer, SOA and, for SRV, additional section, without order, SRV weights and SOA serials. It generates this page from its table of differences: a new or
missing one fails it. "MCS" is multicluster DNS 1.0.0. [Names and records](../reference/names-and-records.md) has the gateway's answers.
`;

const localIntroduction = `# Where answers differ in a cluster's own zone

A second test compares \`sync --cluster-zone cluster.local\` with CoreDNS, some twenty thousand queries in each of the modes \`pods disabled\`, \`insecure\` and \`verified\`.
"DNS" is DNS-based service discovery 1.0.1.

## As in the clusterset zone
`;

/** docs/explanation/coredns-differences.md, from the tables of differences of both zones. */
export function renderDocument(): string {
  const ids = new Set(chapters.flatMap(({ differences }) => differences.map(({ id }) => id)));
  const local = localChapters.flatMap(({ differences }) => differences);
  const alike = [...sharedDifferences, ...local.filter(({ id }) => ids.has(id))];
  const own = localChapters.map(({ title, differences }) => ({
    title,
    differences: differences.filter(({ id }) => !ids.has(id)),
  }));
  return [
    introduction,
    ...renderChapters(chapters),
    localIntroduction,
    ...alike.map(renderShortly),
    "",
    ...renderChapters(own),
  ].join("\n");
}

function renderChapters(of: readonly { title: string; differences: readonly Description[] }[]): string[] {
  return of.flatMap(({ title, differences }) => [
    `## ${title}\n`,
    "| query | CoreDNS | here | why |",
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
