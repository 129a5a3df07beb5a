const one = { reason: "API_UNREACHABLE", seconds: 1 };

/** Reports of workers that a gateway rejects, by what is wrong with them. */
export const WRONG_REPORTS: Readonly<Record<string, unknown>> = {
  "no list": one,
  "an unknown field": [{ ...one, color: "red" }],
  "no reason": [{ seconds: 1 }],
  "a reason of 49 characters": [{ ...one, reason: "A".repeat(49) }],
  "a reason that could leave the quotes of a label": [{ ...one, reason: 'A"} 1' }],
  "a reason with a line break": [{ ...one, reason: "API\nUNREACHABLE" }],
  "a reason in small letters": [{ ...one, reason: "api" }],
  "thirteen reasons": Array.from({ length: 13 }, (_, index) => ({ ...one, reason: `R${index}` })),
  "a time to come": [{ ...one, seconds: -1 }],
  "a fraction of a second": [{ ...one, seconds: 0.5 }],
  "a time before there were clusters": [{ ...one, seconds: 1e10 }],
  "markup in a subject": [{ ...one, subject: "<b>web</b>" }],
  "a direction mark in a subject": [{ ...one, subject: "web\u202egnp.yaml" }],
  "a subject of 101 characters": [{ ...one, subject: "a".repeat(101) }],
  "an empty subject": [{ ...one, subject: "" }],
  "a count of none": [{ ...one, count: 0 }],
  "a count beyond any cluster": [{ ...one, count: 1e9 }],
};
