import { expect, test } from "vitest";
import { Reader } from "../../src/database/reader.ts";
import { RowLoad } from "../../src/database/row-change.ts";
import { Writer } from "../../src/database/writer.ts";
import { AnsweringState } from "../../src/gateway/answering-state.ts";
import { NOON, push, wholeLines } from "../database/pushing.ts";
import { emptySnapshot } from "../snapshot/worlds.ts";
import { FakeClock } from "./fake-clock.ts";
import { memoryDatabase, REAL_QUERIES } from "./open-keyed.ts";

/** A reader beside which something is written, once, when it has read the rows of clusters. */
class Interrupted extends Reader {
  static write: (() => void) | undefined;

  override clustersSince(since: number): ReturnType<Reader["clustersSince"]> {
    const read = super.clustersSince(since);
    const { write } = Interrupted;
    Interrupted.write = undefined;
    write?.();
    return read;
  }
}

test("rows that are replaced while a follower reads all of them are in its answers after the next look", () => {
  const database = memoryDatabase();
  const writer = new Writer(database, () => expect.unreachable());
  push(writer, "east", "whole", wholeLines(emptySnapshot("east")));
  Interrupted.write = () => {
    writer.replace(new RowLoad(database), "log", { position: writer.reader.position(), id: "" }, undefined);
  };
  const follower = new AnsweringState({
    reader: new Interrupted(database, () => expect.unreachable()),
    clock: new FakeClock(NOON),
    names: { zones: {}, merging: {} },
    queries: REAL_QUERIES,
  });
  expect([...follower.live.keys()]).toEqual(["east"]);
  follower.follow();
  expect([...follower.live.keys()]).toEqual([]);
});
