import { z } from 'zod';
import type { ClientState } from './client-state.ts';
import { headerOf, type ReceivedResponse, type SendResult } from './connection.ts';
import type { Operation } from './document.ts';
import type { Draft } from './requests/request-builder.ts';

/** Error statuses that the HTTP framework may return for a request that matches no operation. */
const GENERIC_STATUSES = new Set([400, 403, 404, 405, 408, 413, 414, 415, 417, 431]);
/**
 * Further error statuses that are correct for a request whose method was changed, because this request may match another operation with the same
 * path.
 */
const OTHER_METHOD_STATUSES = new Set([409, 412, 429]);
/** Patterns of internal details that no response may contain. */
const INTERNAL_DETAILS: readonly RegExp[] = [
  /^\s+at .+:\d+:\d+/m,
  /node_modules|node:internal|file:\/\/\//,
  /\/(?:work|home|root|app|usr|var|tmp)\/[\w.-]+\//,
  /\b(?:select .{1,200} from|insert into|update \w+ set|delete from) /i,
  /syntax error at|duplicate key value|violates|invalid byte sequence|invalid input syntax|does not exist\b.*\b(?:relation|column)/i,
  /WRONGTYPE|NOAUTH|ERR_[A-Z]+_|ECONN|ENOENT|(?:Type|Range|Syntax|Reference)Error\b/,
  /\[object Object\]|zod|ioredis|bullmq|mikro/i,
];
const MAX_ERROR_CHARACTERS = 1_000;
const SESSION_ID_LENGTH = 43;
const SESSION_ID_OR_LONGER = /[\w-]{43,}/g;
/** Maximum response time, ms. It is twice the 20 s that the service lets a request wait, because the machine may be busy. */
const MAX_MS = 40_000;

/** Returns one entry per secret and per session id that a text contains. */
function findLeaks(text: string, { target, sessionIds }: ClientState): string[] {
  const found = target.secrets.filter((secret) => text.includes(secret)).map(() => 'a secret');
  // Looks up each part of the text that could be a session id instead of searching the text for each session id, so that the time does not depend on
  // the number of sessions.
  for (const [word] of text.matchAll(SESSION_ID_OR_LONGER)) {
    for (let at = 0; at + SESSION_ID_LENGTH <= word.length; at++) {
      if (sessionIds.has(word.slice(at, at + SESSION_ID_LENGTH))) found.push('the id of a session');
    }
  }
  return found;
}

/** Returns the faults of the response to a request; empty when the response is correct. */
export function findFaults(draft: Draft, outcome: SendResult, state: ClientState): string[] {
  const faults = outcome.responses.flatMap((answer) => [...faultsOfAnswer(draft, answer, state), ...faultsOfReplay(draft, answer, state)]);
  if (outcome.end === 'timeout') faults.push(`no response within ${MAX_MS / 1_000} s`);
  const isWhole = !draft.isUndocumented || draft.mutations.length === 0;
  if (isWhole && outcome.responses.length === 0 && outcome.end === 'closed') faults.push('the connection was closed without a response');
  if (isWhole && outcome.responses.length > 1) faults.push('one request got two responses');
  return faults;
}

function faultsOfAnswer(draft: Draft, answer: ReceivedResponse, state: ClientState): string[] {
  const { status, headers, ms } = answer;
  const header = (name: string) => headerOf(answer, name);
  const faults: string[] = [];
  if (status >= 500 && status !== 503) faults.push(`the service returned ${status}`);
  if ((status === 503 || status === 429) && !/^\d{1,6}$/.test(header('retry-after') ?? '')) faults.push(`${status} without Retry-After`);
  if (status === 405 && header('allow') === undefined) faults.push('405 without Allow');
  if (!isDeclared(draft, answer)) faults.push(`the OpenAPI document does not list status ${status}`);
  if (header('x-content-type-options') !== 'nosniff') faults.push('the response has no header X-Content-Type-Options');
  if (header('cache-control') === undefined) faults.push('the response has no header Cache-Control');
  if (headers.some(([name]) => name === 'injected')) faults.push('a header was injected');
  const { expectedStatuses } = draft;
  if (expectedStatuses && !expectedStatuses.includes(status))
    faults.push(`${draft.mutations.join()} must be rejected with ${expectedStatuses.join(' or ')}, but the status is ${status}`);
  if (ms > MAX_MS) faults.push(`the response took ${Math.round(ms)} ms`);
  const headerText = headers
    .filter(([name]) => name !== 'set-cookie')
    .flat()
    .join('\n');
  const type = header('content-type') ?? '';
  const isBinary = /^(?:video|image)\//.test(type);
  const text = isBinary ? '' : answer.body.toString('utf8');
  faults.push(...findLeaks(`${headerText}\n${text}`, state));
  if (status >= 400 && !(status === 503 && draft.operation.path === '/readyz')) faults.push(...faultsOfError(draft, type, text));
  return faults;
}

/**
 * Returns a fault when two responses to the same caller with the same idempotency key have different ids, even if the request bodies differ. Other
 * fields of the responses (for example `state`) may differ.
 */
function faultsOfReplay(draft: Draft, { status, body }: ReceivedResponse, { replies }: ClientState): string[] {
  const [key, ...others] = draft.headers.filter(([name]) => name === 'Idempotency-Key');
  if (draft.isUndocumented || !key || others.length > 0 || status >= 300 || !takesKey(draft.operation)) return [];
  const callers = draft.headers.filter(([name]) => name === 'Cookie' || name === 'Authorization');
  const scope = [draft.method, draft.path, key, callers].join(' ');
  const ids = idsIn(body.toString('utf8'));
  const before = replies.get(scope) ?? ids;
  replies.set(scope, ids);
  const other = Object.keys(ids).find((name) => name in before && before[name] !== ids[name]);
  return other === undefined ? [] : [`two responses to the same Idempotency-Key differ: ${other} was ${before[other]} and is ${ids[other]}`];
}
/** Returns the id fields of a JSON response. */
function idsIn(text: string): Readonly<Record<string, string>> {
  const parsed = z.record(z.string(), z.unknown()).safeParse(text === '' ? {} : JSON.parse(text));
  const fields = Object.entries(parsed.data ?? {}).flatMap(([name, id]) =>
    typeof id === 'string' && /^(?:id|\w+Id)$/.test(name) ? [[name, id]] : [],
  );
  return Object.fromEntries(fields);
}
const takesKey = ({ parameters }: Operation) => parameters.some((parameter) => parameter.in === 'header' && parameter.name === 'Idempotency-Key');

function isDeclared(draft: Draft, answer: ReceivedResponse): boolean {
  if (draft.isUndocumented)
    return (
      answer.status < 400 ||
      GENERIC_STATUSES.has(answer.status) ||
      draft.operation.statuses.has(answer.status) ||
      (draft.mutations.includes('method') && OTHER_METHOD_STATUSES.has(answer.status)) ||
      answer.status >= 500 ||
      answer.status === 401
    );
  const types = draft.operation.statuses.get(answer.status);
  // Two undocumented statuses are correct: 404 for a path value that violates its schema, and 431 for a request head that is too long, because the
  // service rejects this head before it selects the operation.
  if (answer.status === 404 && draft.mutations.includes('path value')) return true;
  if (types === undefined) return answer.status === 431 && draft.headers.flat().join().length + draft.query.flat().join().length > 4_000;
  if (answer.body.length === 0) return true;
  const type = (headerOf(answer, 'content-type') ?? '').split(';')[0] ?? '';
  return types.includes(type);
}

/** Returns the faults of an error response. The body must be JSON with the sentence as its only field: `error`, or `message` below `/actions`. */
function faultsOfError(draft: Draft, type: string, text: string): string[] {
  if (text === '') return draft.method === 'HEAD' || draft.isUndocumented ? [] : ['an error response has no body'];
  if (!/^application\/json\b/.test(type)) return [`an error response has the content type ${type || 'none'} instead of application/json`];
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return ['the body of an error response is not JSON'];
  }
  // A request that is rejected before its operation is known gets `error`.
  const fields = draft.operation.path.startsWith('/actions') ? ['message', 'error'] : ['error'];
  const given = typeof body === 'object' && body !== null ? Object.keys(body) : [];
  const field = given.length === 1 ? fields.find((one) => one === given[0]) : undefined;
  if (field === undefined) return [`the body of an error response must have the one field "${fields[0]}"`];
  const error: unknown = Reflect.get(Object(body), field);
  if (typeof error !== 'string' || error === '') return [`the field "${field}" of an error response must be a text that is not empty`];
  const faults = INTERNAL_DETAILS.filter((pattern) => pattern.test(error)).map(
    (pattern) => `an error message contains internal details (${pattern.source.slice(0, 30)})`,
  );
  return error.length > MAX_ERROR_CHARACTERS ? [...faults, `an error message has ${error.length} characters`] : faults;
}

/** Matches the findings that a process logs at its start. The target has no RPC node and no beacon. */
export const START_FINDINGS = /"msg":"(?:wrong configuration or dependency: |the configuration and the dependencies are checked; )/;

/** Returns the faults of a log line. */
export function findLogFaults(line: string, state: ClientState): string[] {
  if (START_FINDINGS.test(line)) return [];
  const leaks = findLeaks(line, state).map((what) => `a log line contains ${what}: ${line.slice(0, 500)}`);
  if (/^\{.*"level":"(?:error|fatal)"/.test(line)) return [...leaks, `an error was logged: ${line.slice(0, 2_000)}`];
  // A line that is not JSON is output of Node itself: a warning, a deprecation or an unhandled rejection.
  return line.startsWith('{') || line.trim() === '' ? leaks : [...leaks, `a process printed: ${line.slice(0, 500)}`];
}
