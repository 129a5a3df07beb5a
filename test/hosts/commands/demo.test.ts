import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { decode } from "dns-packet";
import { pino } from "pino";
import { afterEach, beforeEach, expect, it } from "vitest";
import { demo } from "../../../src/hosts/commands/demo.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "clusterset-doh-demo-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function get(url: string): Promise<{ type: string | undefined; body: Buffer }> {
  const ca = readFileSync(join(folder, "tls", "self-signed.crt"));
  return new Promise((resolve, reject) => {
    request(url, { ca, agent: false }, async (response) => {
      const parts: Buffer[] = [];
      for await (const part of response) parts.push(part);
      resolve({ type: response.headers["content-type"], body: Buffer.concat(parts) });
    })
      .on("error", reject)
      .end();
  });
}

// The programs in the printed lines are run by test/e2e/commands/demo.e2e.test.ts.
it("the demo pushes both examples, prints addresses that answer, and stops", {
  timeout: 60_000,
}, async () => {
  const stop = new AbortController();
  const lines: string[] = [];
  let isPrinted = () => {};
  const printed = new Promise<void>((resolve) => {
    isPrinted = resolve;
  });
  const ended = demo(
    { listen: "localhost:0", stateDir: folder },
    pino({ level: "silent" }),
    stop.signal,
    (line) => {
      lines.push(line);
      if (line.startsWith("Stop")) isPrinted();
    },
  );
  await Promise.race([printed, ended]);
  const urls = new Set(lines.flatMap((line) => line.match(/https:[^' ]+\?[^' ]+/g) ?? []));
  expect(urls.size).toBeGreaterThanOrEqual(4);
  for (const url of urls) {
    const { type, body } = await get(url);
    if (type === "application/dns-message") expect(decode(body).answers?.length, url).toBeGreaterThan(0);
    else expect(JSON.parse(body.toString()).Answer?.length, url).toBeGreaterThan(0);
  }
  stop.abort();
  await ended;
});
