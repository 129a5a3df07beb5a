import { describe, expect, it } from "vitest";
import { type CursorSource, DesiredCursor } from "../../../src/gateway/desired/desired-cursor.ts";
import { KeptLines } from "../../../src/gateway/desired/kept-lines.ts";
import { NamespaceVersions } from "../../../src/gateway/desired/namespace-versions.ts";

const START = '{"start":"snapshot","formatVersion":1}\n';
const CHANGES = '{"start":"changes","formatVersion":1}\n';
const position = (version: number) => `{"position":"at ${version}"}\n`;

/** A feed of the cluster "west" in which the test sets lines and namespaces. */
function open(most?: number) {
  const kept = new KeptLines(most);
  const namespaces = new NamespaceVersions(0);
  const held = { version: 0, forgotten: 0, isLive: true, closed: 0, woken: 0 };
  const feed: CursorSource = {
    get version() {
      return held.version;
    },
    positionOf: (version) => `at ${version}`,
    forgotten: () => held.forgotten,
    namespacesOf: () => namespaces,
    has: () => held.isLive,
  };
  const cursors: DesiredCursor[] = [];
  const cursor = (version?: number) => {
    const one = new DesiredCursor(feed, kept, "west", version, () => void held.closed++);
    cursors.push(one);
    return one;
  };
  /** Sets the line of a service; none takes it away. */
  const set = (key: string, text?: string) => {
    held.version++;
    const lines = new Map(text === undefined ? [] : [["import", { text: `${text}\n`, none: `no ${key}\n` }]]);
    kept.take(key, { lines, exporters: [] }, held.version);
    for (const one of cursors) one.touch(key);
  };
  const setNamespaces = (...names: readonly string[]) => {
    held.version++;
    for (const changed of namespaces.take(new Set(names), held.version))
      for (const key of kept.keys())
        if (key.startsWith(`${changed}/`)) for (const one of cursors) one.touch(key);
  };
  return { held, cursor, set, setNamespaces };
}
const all = (cursor: DesiredCursor) => cursor.read(1e9).text;

describe("a stream of the desired state", () => {
  it("begins with all lines of the cluster's namespaces, then has what changes", () => {
    const { cursor, set, setNamespaces } = open();
    setNamespaces("shop");
    set("shop/web", "web 1");
    set("ops/log", "log 1");
    const one = cursor();
    expect(one.isIdle).toBe(false);
    expect(all(one)).toBe(`${START}web 1\n${position(3)}`);
    expect([one.isIdle, all(one)]).toEqual([true, ""]);
    set("shop/web", "web 2");
    set("ops/log", "log 2");
    expect(one.isIdle).toBe(false);
    expect(all(one)).toBe(`web 2\n${position(5)}`);
    set("shop/web");
    expect(all(one)).toBe(`no shop/web\n${position(6)}`);
  });

  it("that resumes has what changed since its version", () => {
    const { cursor, set, setNamespaces } = open();
    setNamespaces("shop");
    set("shop/web", "web 1");
    set("shop/api", "api 1");
    expect(all(cursor(2))).toBe(`${CHANGES}api 1\n${position(3)}`);
    expect(all(cursor(3))).toBe(`${CHANGES}${position(3)}`);
  });

  it("has all of a namespace that the cluster has anew, and takes back all of one that it has no more", () => {
    const { cursor, set, setNamespaces } = open();
    setNamespaces("shop");
    set("shop/web", "web 1");
    set("ops/log", "log 1");
    const one = cursor();
    all(one);
    setNamespaces("ops");
    const lines = all(one).split("\n").slice(0, -2).sort();
    expect(lines).toEqual(["log 1", "no shop/web"]);
    set("shop/web", "web 2");
    expect(all(one)).toBe(position(5));
  });

  it("gives about as many characters as are asked for, at least one line", () => {
    const { cursor, set, setNamespaces } = open();
    setNamespaces("shop");
    for (const name of ["a", "b", "c"]) set(`shop/${name}`, name);
    const one = cursor();
    expect(one.read(1)).toEqual({ text: START, lines: 1 });
    expect(one.read(3)).toEqual({ text: "a\nb\n", lines: 2 });
    set("shop/c", "c2");
    expect(one.read(1)).toEqual({ text: "c2\n", lines: 1 });
    expect(one.read(0)).toEqual({ text: "", lines: 0 });
    // A change that comes meanwhile follows its older position again: a reader that resumes there must get it.
    expect(all(one)).toBe(`${position(4)}c2\n${position(5)}`);
    expect(one.isIdle).toBe(true);
  });

  it("ends where the cluster leaves, where its reader is too far behind, and when it is ended or closed", () => {
    const { held, cursor } = open();
    const [fresh, behind] = [cursor(), cursor(4)];
    held.forgotten = 4;
    expect([fresh.isEnded, behind.isEnded]).toEqual([false, false]);
    held.forgotten = 5;
    expect([fresh.isEnded, behind.isEnded]).toEqual([false, true]);
    held.isLive = false;
    expect(fresh.isEnded).toBe(true);
    held.isLive = true;
    fresh.onWake(() => void held.woken++);
    fresh.wake();
    fresh.end();
    expect([fresh.isEnded, held.woken, held.closed]).toEqual([true, 2, 0]);
    const other = cursor();
    other.wake();
    other.close();
    expect([other.isEnded, held.closed]).toEqual([true, 1]);
  });
});
