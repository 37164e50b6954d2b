import type { z } from 'zod';
import { fail, type HttpError } from '#lib/errors.ts';

const TYPE_NAMES: Record<string, string> = {
  int: 'an integer',
  number: 'a number',
  bigint: 'an integer',
  string: 'text',
  boolean: 'true or false',
  stringbool: 'true or false',
  object: 'an object',
  record: 'an object',
  array: 'an array',
  tuple: 'an array',
  null: 'null',
};
const FORMAT_NAMES: Record<string, string> = {
  uuid: 'a UUID',
  datetime: 'an ISO 8601 date and time in UTC',
  date: 'a day as YYYY-MM-DD',
  url: 'a URL',
  base64: 'base64 text',
};
/** Maximum characters of a field path in an error sentence. */
const MAX_ECHO = 100;

const typeName = (expected: string) => TYPE_NAMES[expected] ?? expected;
const counted = (n: number | bigint, unit: string) => `${n} ${unit}${n === 1 || n === 1n ? '' : 's'}`;

function amount(origin: string, n: number | bigint): string {
  if (origin === 'string') return `${counted(n, 'character')} long`;
  if (origin === 'array') return `${counted(n, 'item')} long`;
  return String(n);
}

/**
 * Returns the requirement that a field does not meet. The text continues a sentence that begins with the name of the field. A message in the schema
 * takes precedence.
 */
export const describeIssue: z.core.$ZodErrorMap = (issue) => {
  const required = issue.input === undefined ? 'is required and ' : '';
  switch (issue.code) {
    case 'invalid_type':
      return `${required}must be ${typeName(issue.expected)}`;
    case 'invalid_value':
      return `${required}must be ${issue.values.length > 1 ? 'one of ' : ''}${issue.values.map(String).join(', ')}`;
    case 'too_small':
      return `must be ${issue.exact ? 'exactly' : issue.inclusive ? 'at least' : 'more than'} ${amount(issue.origin, issue.minimum)}`;
    case 'too_big':
      return `must be ${issue.exact ? 'exactly' : issue.inclusive ? 'at most' : 'less than'} ${amount(issue.origin, issue.maximum)}`;
    case 'invalid_format':
      return `must be ${FORMAT_NAMES[issue.format] ?? (issue.pattern ? `text that matches ${issue.pattern}` : `a valid ${issue.format}`)}`;
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`;
    case 'invalid_union':
      return Array.isArray(issue.options) ? `${required}must be one of ${issue.options.join(', ')}` : required ? 'is required' : 'is not valid';
    case 'unrecognized_keys':
      return 'is not a known field';
    default:
      return required ? 'is required' : 'is not valid';
  }
};

type Issue = z.core.$ZodIssue;

/**
 * Returns the issues of the union branch that fits the value best. This is the branch with the fewest issues among the branches that have the value's
 * type.
 */
function bestBranch(branches: readonly (readonly Issue[])[]): readonly Issue[] | undefined {
  const fitting = branches.filter((issues) => issues.every((issue) => issue.path.length > 0 || issue.code !== 'invalid_type'));
  return fitting.sort((a, b) => a.length - b.length)[0];
}

/**
 * Returns the path of the invalid field and the requirement that it does not meet. For a union, both come from the branch that fits the value best.
 */
function findIssue(issue: Issue, above: readonly PropertyKey[] = []): { path: readonly PropertyKey[]; message: string } {
  const path = [...above, ...issue.path];
  if (issue.code === 'unrecognized_keys') return { path: [...path, issue.keys[0] ?? ''], message: issue.message };
  if (issue.code !== 'invalid_union') return { path, message: issue.message };
  const branch = bestBranch(issue.errors);
  if (branch?.[0]) return findIssue(branch[0], path);
  const kinds = issue.errors.flatMap((issues) =>
    issues.flatMap((i) => (i.code === 'invalid_type' && i.path.length === 0 ? [typeName(i.expected)] : [])),
  );
  return { path, message: kinds.length > 0 ? `must be ${[...new Set(kinds)].join(' or ')}` : issue.message };
}

/** Formats the path of a field, such as `caps.points[0].score`. */
function nameOf(path: readonly PropertyKey[]): string {
  const name = path.reduce<string>(
    (text, part) => (typeof part === 'number' ? `${text}[${part}]` : text ? `${text}.${String(part)}` : String(part)),
    '',
  );
  return name.length > MAX_ECHO ? `${name.slice(0, MAX_ECHO)}…` : name;
}

/**
 * Creates the error of an invalid body, query or path: 400, and 404 for a path, because no resource has a malformed id. Its sentence contains the field
 * and the requirement that the field does not meet.
 */
export function validationError(where: 'body' | 'query' | 'path', error: z.ZodError): HttpError {
  const issue = error.issues[0];
  const { path, message } = issue ? findIssue(issue) : { path: [], message: 'is not valid' };
  const requirement = `${nameOf(path) || `the ${where}`} ${message}`;
  return where === 'path' ? fail(404, `no such resource: ${requirement}`) : fail(400, requirement);
}
