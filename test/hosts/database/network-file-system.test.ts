import { describe, expect, it } from "vitest";
import { networkFileSystem } from "../../../src/hosts/node/database.ts";

const mounts = (...lines: readonly (readonly [point: string, type: string])[]) =>
  lines
    .map(([point, type], id) => `${id} 1 0:${id} / ${point} rw,relatime shared:1 - ${type} source rw`)
    .join("\n");
const MOUNTS = mounts(
  ["/", "overlay"],
  ["/srv", "nfs4"],
  ["/srv/local", "ext4"],
  ["/mnt/a\\040b", "cifs"],
  ["/home", "fuse.sshfs"],
  ["/over", "nfs"],
  ["/over", "xfs"],
);

describe("the file system of a state folder", () => {
  it.each([
    ["/var/lib/state", undefined],
    ["/srv", "nfs4"],
    ["/srv/state", "nfs4"],
    ["/srvother/state", undefined],
    ["/srv/local/state", undefined],
    ["/mnt/a b/state", "cifs"],
    ["/home/user/state", "fuse.sshfs"],
    ["/over/state", undefined],
  ])("of %s is one of another machine: %s", (path, type) => {
    expect(networkFileSystem(path, MOUNTS)).toBe(type);
  });

  it.each(["ext4", "xfs", "btrfs", "zfs", "tmpfs", "overlay", "fuseblk", "fuse.fuse-overlayfs", "virtiofs"])(
    "%s is one of this machine",
    (type) => {
      expect(networkFileSystem("/data/state", mounts(["/data", type]))).toBeUndefined();
    },
  );

  it("is not known without a list", () => {
    expect(networkFileSystem("/data/state", "")).toBeUndefined();
  });
});
