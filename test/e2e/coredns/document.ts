import type { Difference } from "./differences/difference.ts";
import { chapters } from "./differences/index.ts";

const introduction = `# Where answers differ from CoreDNS 1.15

CoreDNS answers clusterset names inside a cluster, by the option \`multicluster\` of its plugin \`kubernetes\`. In import mode
this gateway answers from the same ServiceImports and EndpointSlices. An end-to-end test runs both on the same API servers,
asks both some thirty thousand questions, and demands the same code, flags, answer, SOA and, for SRV, additional section; the order of records,
the weight in SRV and the serial in SOA are left out. This page is all that differs, and why. It is written from the table that the test
holds every answer against, so a difference that is new, or gone, fails the test.

In the examples an SRV record shows priority, port and target; "with" marks the additional section. "MCS" is the specification of multicluster DNS,
version 1.0.0; [dns.md](dns.md) has the gateway's answers as a whole.
`;

/** docs/coredns-differences.md, from the table of differences. */
export function renderDocument(): string {
  const body = chapters.flatMap(({ title, differences }) => [
    `## ${title}\n`,
    ...differences.map(renderDifference),
  ]);
  return [introduction, ...body].join("\n");
}

function renderDifference({ title, corednsSays, weSay, reason, example }: Difference): string {
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
