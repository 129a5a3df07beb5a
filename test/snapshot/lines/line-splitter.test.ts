import { describe, expect, it } from "vitest";
import { LineSplitter } from "../../../src/snapshot/lines/line-splitter.ts";

const encode = (text: string) => new TextEncoder().encode(text);
const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

function split(most: number, ...pieces: readonly string[]) {
  const splitter = new LineSplitter(most);
  const lines = pieces.flatMap((piece) => [...splitter.feed(encode(piece))].map(decode));
  return { lines, splitter };
}

describe("bytes in pieces", () => {
  it.each<[pieces: string[], lines: string[], open: number]>([
    [["a\nb\n"], ["a\n", "b\n"], 0],
    [["a", "\n"], ["a\n"], 0],
    [["a", "b", "c\nd", "e\n"], ["abc\n", "de\n"], 0],
    [["\n\n"], ["\n", "\n"], 0],
    [["", "a", "", "\n", ""], ["a\n"], 0],
    [["a\nbc", "d"], ["a\n"], 3],
  ])("%j are the lines %j, and %i bytes of one that is not complete", (pieces, lines, open) => {
    const { lines: seen, splitter } = split(100, ...pieces);
    expect(seen).toEqual(lines);
    expect([splitter.lines, splitter.open]).toEqual([lines.length, open]);
  });

  it("may be changed once they were taken", () => {
    const splitter = new LineSplitter(100);
    const memory = encode("abc");
    expect([...splitter.feed(memory)]).toEqual([]);
    memory.fill(0x7a);
    expect([...splitter.feed(encode("d\n"))].map(decode)).toEqual(["abcd\n"]);
  });

  it("are not copied for a line that comes in one piece", () => {
    const piece = encode("a\nb\n");
    for (const line of new LineSplitter(100).feed(piece)) expect(line.buffer).toBe(piece.buffer);
  });
});

describe("a line", () => {
  it.each([[["abcd\n"]], [["ab", "cd\n"]], [["abcd", "\n"]], [["x\nabcd\n"]]])(
    "of as many bytes as it may have is read: %j",
    (pieces) => {
      expect(split(4, ...pieces).lines.at(-1)).toBe("abcd\n");
    },
  );

  it.each<[pieces: string[], line: number]>([
    [["abcde\n"], 1],
    [["abcde"], 1],
    [["abc", "de"], 1],
    [["a\nabcd", "e\n"], 2],
  ])("of one byte more is an error before its end comes: %j", (pieces, line) => {
    expect(() => split(4, ...pieces)).toThrow(
      expect.objectContaining({
        ...{ code: "LINE_TOO_LONG", line },
        message: `line ${line}: has more than 4 bytes`,
      }),
    );
  });
});
