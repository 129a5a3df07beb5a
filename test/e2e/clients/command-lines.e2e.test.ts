import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { run } from "../servers/run.ts";
import { temporaryFolder } from "../servers/tools/folders.ts";
import { ensureTool } from "../servers/tools/tools.ts";
import { type GatewayOfAPage, NAME, startGatewayOfAPage, TEXT } from "./gateway-of-a-page.ts";

let world: GatewayOfAPage;
let folder: string;

beforeAll(async () => {
  world = await startGatewayOfAPage(false);
  folder = temporaryFolder("lines");
  writeFileSync(join(folder, "certificate.crt"), await world.setupFile("certificate/certificate.crt"));
});
afterAll(() => world?.stop());

/** The lines of a file behind /setup, as they are pasted. */
const linesOf = async (path: string) => (await world.setupFile(path)).trimEnd().split("\n");
const shell = (line: string) => run("bash", ["-c", line], { cwd: folder });

const DNSPYTHON = `
import dns.message, dns.query, sys
name, url, certificate = sys.argv[1:]
query = dns.message.make_query(name, "A")
for post in (True, False):
    answer = dns.query.https(query, url, post=post, verify=certificate)
    print("POST" if post else "GET", *(record for rrset in answer.answer for record in rrset))
`;

test("dnspython queries by POST and by GET", async () => {
  const dnspython = await ensureTool("dnspython");
  const args = ["-c", DNSPYTHON, NAME, `${world.gateway.url}/dns-query`, join(folder, "certificate.crt")];
  expect(await run("python3", args, { env: { PYTHONPATH: dnspython } })).toBe(
    "POST 127.0.0.1\nGET 127.0.0.1\n",
  );
});

describe("the lines of /setup, pasted into a shell", () => {
  test("curl finds the page by --doh-url, and prints JSON", async () => {
    const [open, json, ...others] = await linesOf("curl/curl.sh");
    expect(others).toEqual([]);
    // The page has a port of its own here, so that the line has one, too.
    const line = open!.replace(`'http://${NAME}/'`, `'http://${NAME}:${world.page.port}/'`);
    expect(line).not.toBe(open);
    expect(await shell(line)).toContain(TEXT);
    expect(JSON.parse(await shell(json!))).toMatchObject({ Status: 0, Answer: [{ data: "127.0.0.1" }] });
  });

  test("dig and kdig query by POST and by GET", async () => {
    const lines = await linesOf("dig/dig.sh");
    expect(lines.map((line) => line.split(" @")[0])).toEqual([
      "dig +https",
      "dig +https-get",
      "kdig +https",
      "kdig +https +https-get",
    ]);
    for (const line of lines) {
      const text = await shell(line);
      expect(text, line).toMatch(/status: NOERROR/);
      expect(text, line).toMatch(new RegExp(`^${NAME}\\.\\s+\\d+\\s+IN\\s+A\\s+127\\.0\\.0\\.1$`, "m"));
      expect(text, line).toMatch(line.includes("-get") ? /HTTPS-GET|GET/ : /HTTPS|POST/);
    }
  });
});
