import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { RecordType } from "dns-packet";
import { describe, expect, test } from "vitest";
import { checkout, runCli } from "../harness/cli.ts";
import { startCoreDns } from "../servers/coredns.ts";
import { queryUdp } from "../servers/dns.ts";
import { temporaryFolder } from "../servers/tools/folders.ts";

const examples = ["cluster-a", "cluster-b"].map((name) => join(checkout, "examples", name));

describe("export", () => {
  test("another name server loads the zone file and answers all its records", async () => {
    const { code, stdout } = await runCli([
      "export",
      "--federation=prod",
      "--domain=federation.example.com",
      "--name-server=ns1.example.com",
      ...examples,
    ]);
    expect(code).toBe(0);
    const file = join(temporaryFolder("export"), "federation.example.com.zone");
    writeFileSync(file, stdout);
    const coredns = await startCoreDns([`file ${file} federation.example.com`]);
    try {
      const expected = new Map<string, string[]>();
      for (const line of stdout.trim().split("\n")) {
        const [name, , , type, rdata] = line.split("\t") as [string, string, string, string, string];
        if (type === "SOA") continue;
        const key = `${name.slice(0, -1)} ${type}`;
        expected.set(key, [...(expected.get(key) ?? []), rdata.replace(/\.$/, "")].sort());
      }
      expect(expected.size).toBeGreaterThan(8);
      const found = new Map<string, string[]>();
      for (const key of expected.keys()) {
        const [name, type] = key.split(" ") as [string, RecordType];
        const { message } = await queryUdp(coredns.port, { name, type });
        const answers = (message.answers ?? []).flatMap((answer) =>
          answer.type === type && "data" in answer ? String(answer.data) : [],
        );
        found.set(key, answers.sort());
      }
      expect(found).toEqual(expected);
    } finally {
      await coredns.stop();
    }
  });
});
