import { type HttpCase, httpCase } from "../http-case.ts";

/** A path with only GET and HEAD. */
export function getOnlyCases(path: string): readonly HttpCase[] {
  const head = { status: 200, headers: { "content-type": /./ } };
  return [
    httpCase("RFC 9110 section 9.3.2", `HEAD ${path} is answered like GET`, path, head, { method: "HEAD" }),
    ...["POST", "PUT", "PATCH", "DELETE", "OPTIONS"].map((method) => {
      const headers = { allow: "GET, HEAD", "cache-control": "no-store" };
      const expected = { status: 405, headers, text: `${method} is not for this path` };
      return httpCase("RFC 9110 section 15.5.6", `${method} ${path} is not allowed`, path, expected, {
        method,
      });
    }),
  ];
}
