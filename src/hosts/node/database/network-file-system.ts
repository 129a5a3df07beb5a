import { readFileSync } from "node:fs";

/** Types of file systems of other machines, as Linux names them. */
const REMOTE =
  /^(?:nfs4?|cifs|smb[23]?|smbfs|ncpfs|9p|afs|ceph|coda|davfs|glusterfs|lustre|gpfs|beegfs|orangefs|pvfs2|ocfs2|gfs2?|fuse\.(?:sshfs|glusterfs|ceph(?:-fuse)?|s3fs|gcsfuse|goofys|mount-s3|mountpoint-s3|rclone|juicefs|davfs2?|smbnetfs|curlftpfs|mfs|lizardfs|seaweedfs|weed|blobfuse2?|hdfs|nfs|alluxio|geesefs))$/;

/**
 * The type of the file system of a path if it is one of another machine, where SQLite's locks do not work; undefined otherwise, and where the system has no list.
 * @param path absolute, without links
 * @param mounts the list (proc_pid_mountinfo(5))
 */
export function networkFileSystem(path: string, mounts: string = readMounts()): string | undefined {
  let [longest, found] = [0, ""];
  for (const line of mounts.split("\n")) {
    const [, point = "", type = ""] = /^(?:\S+ ){4}(\S+) .* - (\S+) /.exec(line) ?? [];
    const folder = point.replace(/\\(\d{3})/g, (_, code) => String.fromCharCode(Number.parseInt(code, 8)));
    const isAbove = folder === "/" || path === folder || path.startsWith(`${folder}/`);
    // The last of several mounts on one folder is the one that is seen.
    if (folder !== "" && isAbove && folder.length >= longest) [longest, found] = [folder.length, type];
  }
  return REMOTE.test(found) ? found : undefined;
}

function readMounts(): string {
  try {
    return readFileSync("/proc/self/mountinfo", "utf8");
  } catch {
    return "";
  }
}
