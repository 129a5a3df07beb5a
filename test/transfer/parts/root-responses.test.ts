import { describe, expect, it } from "vitest";
import { PartChangeError } from "../../../src/transfer/parts/part-change.ts";
import {
  readRootDocument,
  readRootNews,
  writeRootDocument,
  writeRootNews,
} from "../../../src/transfer/parts/root-responses.ts";
import { writeRoot } from "../../../src/zone/generation/root.ts";
import { FormatError } from "../../../src/zone/segment/blob.ts";

const hashOf = (digit: string) => digit.repeat(32);
const hashes = { frame: hashOf("1"), stems: hashOf("2"), names: hashOf("3"), reverse: hashOf("4") };
const blobs = new Map(Object.values(hashes).map((hash, index) => [hash, Uint8Array.of(index, 7)]));
const root = writeRoot(hashes);
const document = writeRootDocument(root, (hash) => blobs.get(hash))!;

describe("a root's document", () => {
  it("that is cut off anywhere, or goes on, is rejected", () => {
    for (let length = 0; length < document.length; length++)
      expect(() => readRootDocument(document.slice(0, length)), `${length}`).toThrow(
        new FormatError("the root's document is cut off"),
      );
    expect(() => readRootDocument(Uint8Array.from([...document, 0, 0, 0, 0]))).toThrow(
      new FormatError("the root's document goes on after its end"),
    );
  });
});

describe("the news of a root", () => {
  it("that are cut off inside a blob are rejected", () => {
    const cutOff = new PartChangeError("the change of the root is cut off");
    const news = writeRootNews({ change: Uint8Array.of(1, 2, 3), segments: [] });
    for (let length = 0; length < news.length; length++)
      expect(() => readRootNews(news.slice(0, length)), `${length}`).toThrow(cutOff);
  });
});
