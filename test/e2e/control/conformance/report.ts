/** What is read of the suite's report.yaml. */
export interface ConformanceReport {
  groups: { name: string; tests: ConformanceSpec[] }[];
  passed: number;
  total: number;
}

interface ConformanceSpec {
  desc: string;
  labels: string[];
  passed: boolean;
  skipped: boolean;
  message: string;
}

/** One line a spec, then how many passed. */
export function summary({ groups, passed, total }: ConformanceReport): string {
  const lines = groups.flatMap(({ name, tests }) =>
    tests.map((spec) => {
      const outcome = spec.passed ? "passed" : spec.skipped ? "skipped" : "FAILED";
      return `${outcome} ${[name, ...spec.labels].join(",")}: ${spec.desc}${spec.message}`;
    }),
  );
  return [...lines, `${passed} of ${total} specs passed`].join("\n");
}
