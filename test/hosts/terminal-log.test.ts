import { expect, it } from "vitest";
import { terminalLine } from "../../src/hosts/node/process.ts";

const line = (fields: object) =>
  JSON.stringify({
    level: "warn",
    time: "2026-11-27T10:20:30.000Z",
    command: "serve",
    msg: "said",
    ...fields,
  });
const shown = (fields: object) => terminalLine(line(fields), false).replace(/^\d\d:\d\d:\d\d /, "");

it.each([
  [{}, "WARN  said\n"],
  [{ event: "listening", url: "https://[::1]:8443" }, "WARN  said  event=listening url=https://[::1]:8443\n"],
  [{ level: "error", err: { message: "it broke", stack: "at …" } }, 'ERROR said  err="it broke"\n'],
  [{ count: 3, list: ["a b"], none: null }, 'WARN  said  count=3 list=["a b"] none=null\n'],
  [{ msg: "two\n  lines\u001b[31m" }, "WARN  two lines\\u{1b}[31m\n"],
  [{ name: "\u202Eevil\u0007" }, 'WARN  said  name="\\u{202e}evil\\u0007"\n'],
  [{ level: "other" }, "OTHER said\n"],
])("at a terminal %j is %j", (fields, text) => {
  expect(shown(fields)).toBe(text);
});

it("is coloured by its level, unless the terminal has no colours", () => {
  expect(terminalLine(line({}), true)).toContain("\u001b[33mWARN ");
  expect(terminalLine(line({}), false)).not.toContain("\u001b");
});
