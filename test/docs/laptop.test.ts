import { join } from "node:path";
import { expect, it } from "vitest";
import { describeDemo } from "../../src/hosts/commands/demo.ts";
import { blocksIn } from "./pages.ts";

// test/e2e/commands/demo.e2e.test.ts runs each line that `npm start` prints.
const printed = describeDemo(
  "https://localhost:8443",
  join(process.cwd(), ".clusterset-doh/demo/tls/self-signed.crt"),
).map((line) => line.trim());
const withoutName = (line: string) => line.replaceAll(/\b[a-z]+\.shop\.svc\.clusterset\.test/g, "NAME");

it.each([
  ["README.md", "First answer"],
  ["docs/tutorials/laptop.md", "the tutorial"],
])("%s queries the demo by lines that npm start prints", (page) => {
  const lines = blocksIn(page, "sh")
    .join("\n")
    .split("\n")
    .filter((line) => /^(?:curl|dig) .*clusterset\.test/.test(line));
  expect(lines.length).toBeGreaterThan(0);
  for (const line of lines) expect(printed.map(withoutName)).toContain(withoutName(line));
});

it("docs/tutorials/laptop.md shows what npm start prints", () => {
  const [shown] = blocksIn("docs/tutorials/laptop.md", "text");
  for (const line of shown!.trim().split("\n")) expect(printed).toContain(line);
});
