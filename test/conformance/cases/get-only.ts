import type { HttpCase } from "../http-case.ts";

/** A path with only GET and HEAD. */
export function getOnlyCases(path: string): readonly HttpCase[] {
  return [
    {
      section: "RFC 9110 section 9.3.2",
      title: `HEAD ${path} is answered like GET`,
      method: "HEAD",
      path,
      expected: { status: 200, headers: { "content-type": /./ } },
    },
    ...["POST", "PUT", "PATCH", "DELETE", "OPTIONS"].map((method) => ({
      section: "RFC 9110 section 15.5.6",
      title: `${method} ${path} is not allowed`,
      method,
      path,
      expected: {
        status: 405,
        headers: { allow: "GET, HEAD", "cache-control": "no-store" },
        text: `${method} is not for this path`,
      },
    })),
  ];
}
