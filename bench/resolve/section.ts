import { join } from "node:path";
import { runProgram } from "../processes/program.ts";
import type { Section, Table } from "../report/report.ts";

/** `resolve()` against dns-packet, in a world of 10,000 services. */
export const resolveSection: Section = {
  name: "resolve",
  summary: "resolve() per second beside dns-packet reading the query and writing the same answer",
  async measure({ rounds, share }, progress) {
    progress(`six kinds of queries, ${rounds} rounds each`);
    const program = join(import.meta.dirname, "program.ts");
    const tables = await runProgram<Table[]>(program, [String(rounds), String(share)]);
    const note = "dns-packet decodes the query and encodes an answer that lies ready: it looks nothing up.";
    return tables.map((table, index) => (index === tables.length - 1 ? { ...table, notes: [note] } : table));
  },
};
