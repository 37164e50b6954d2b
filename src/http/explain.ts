import type { z } from 'zod';
import { fail, type Refusal } from '../lib/errors.ts';

const KINDS: Record<string, string> = {
  int: 'an integer',
  number: 'a number',
  string: 'text',
  boolean: 'true or false',
  object: 'an object',
  array: 'an array',
  record: 'an object',
};

/** What is wrong with a value, as the end of a sentence that begins with the field's name. */
function fault(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined
        ? `is required and must be ${KINDS[issue.expected] ?? issue.expected}`
        : `must be ${KINDS[issue.expected] ?? issue.expected}`;
    case 'too_small':
      return `must be ${issue.inclusive ? 'at least' : 'more than'} ${issue.minimum}${unit(issue.origin)}`;
    case 'too_big':
      return `must be ${issue.inclusive ? 'at most' : 'less than'} ${issue.maximum}${unit(issue.origin)}`;
    case 'invalid_value':
      return `must be ${issue.values.length > 1 ? 'one of ' : ''}${issue.values.join(', ')}`;
    default:
      return issue.message.startsWith('Invalid') ? 'is not valid' : issue.message;
  }
}

const unit = (origin: string) => (origin === 'string' ? ' characters long' : origin === 'array' ? ' items long' : '');

/** 400 with one sentence that names the field and what it must be. */
export function refuse(where: 'body' | 'query' | 'path', error: z.ZodError): Refusal {
  const issue = error.issues[0];
  if (!issue) return fail(400, `the ${where} is not valid`);
  if (issue.code === 'unrecognized_keys') return fail(400, `${[...issue.path, issue.keys[0]].join('.')} is not a known field`);
  if (issue.code === 'invalid_union' && issue.errors[0]?.[0]) return fail(400, `${issue.path.join('.') || where} is not valid`);
  return fail(400, `${issue.path.join('.') || `the ${where}`} ${fault(issue)}`);
}
