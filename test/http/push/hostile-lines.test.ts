import { describe, expect, test } from "vitest";
import { Reader } from "../../../src/database/reader.ts";
import { Stage } from "../../../src/database/stage.ts";
import { BodyBudget, stageLines } from "../../../src/http/push/bodies.ts";
import { DEFAULT_LIMITS } from "../../config/default-limits.ts";
import { memoryDatabase } from "../../gateway/open-keyed.ts";
import { openTurns } from "../../gateway/turns/open-turns.ts";
import { headerLine, LINES_TYPE, sealed } from "../../snapshot/lines/push-lines.ts";

const members = (from: number, count: number) =>
  Array.from({ length: count }, (_, index) => `"m${from + index}":{"address":"10.0.0.1"}`).join();
const group = (from: number, count: number) =>
  `["exports","a/b",{"endpoints":{"*":{"members":{${members(from, count)}}}}}]`;
const EXPORT =
  '{"exportedAt":"2024-01-01T00:00:00Z","serviceType":"ClusterIP","headless":true,"ports":[],"endpoints":{"*":{"ports":[],"members":{}}}}';

describe("a hostile body of the largest legal size takes the thread for little in one turn", () => {
  test.each<[string, () => string[]]>([
    [
      "900,000 members in one service",
      () => [
        `["exports","a/b",${EXPORT}]`,
        ...Array.from({ length: 900 }, (_, index) => group(index * 1000, 1000)),
      ],
    ],
    [
      "100,000 empty exports",
      () => Array.from({ length: 100_000 }, (_, index) => `["exports","a/n${index}",${EXPORT}]`),
    ],
    ["100,000 lines for one entry", () => Array.from({ length: 100_000 }, () => '["namespaces","shop",{}]')],
  ])("%s", async (_, lines) => {
    const { turns, next } = openTurns();
    const reader = new Reader(memoryDatabase(), () => {});
    let inTurn = 0;
    let most = 0;
    let total = 0;
    const limits = { ...DEFAULT_LIMITS, pushValues: 10_000_000, pushSentBytes: 2 ** 30 };
    const reading = {
      limits,
      turns,
      setTimer: () => () => {},
      account: new BodyBudget(limits).open("west"),
      work: (values: number) => {
        inTurn += values;
        total += values;
        most = Math.max(most, inTurn);
      },
    };
    const request = new Request("https://gateway.example/", {
      method: "PUT",
      headers: { "content-type": LINES_TYPE },
      body: sealed(headerLine("west"), ...lines()),
    });
    let isOver = false;
    const staged = stageLines(request, reading, () => new Stage(reader, "west", "whole")).finally(() => {
      isOver = true;
    });
    while (!isOver) {
      inTurn = 0;
      await next();
    }
    await staged;
    expect(total).toBeGreaterThan(300_000);
    expect(most).toBeLessThanOrEqual(40_000);
  });
});
