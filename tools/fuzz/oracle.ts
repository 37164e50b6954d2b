import { z } from 'zod';
import { type Answer, headerOf, type Outcome } from './connection.ts';
import type { Operation } from './document.ts';
import type { Draft } from './requests.ts';
import type { World } from './world.ts';

/** Refusals that the kit gives to what is no request of any operation. */
const GENERIC = new Set([400, 403, 404, 405, 408, 413, 414, 415, 417, 431]);
/** Refusals of another operation, of the same path, that a request becomes by its method. */
const OF_ANOTHER = new Set([409, 412, 429]);
/** What only the inside of the service looks like. */
const INSIDE: readonly RegExp[] = [
  /^\s+at .+:\d+:\d+/m,
  /node_modules|node:internal|file:\/\/\//,
  /\/(?:work|home|root|app|usr|var|tmp)\/[\w.-]+\//,
  /\b(?:select .{1,200} from|insert into|update \w+ set|delete from) /i,
  /syntax error at|duplicate key value|violates|invalid byte sequence|invalid input syntax|does not exist\b.*\b(?:relation|column)/i,
  /WRONGTYPE|NOAUTH|ERR_[A-Z]+_|ECONN|ENOENT|(?:Type|Range|Syntax|Reference)Error\b/,
  /\[object Object\]|zod|ioredis|bullmq|mikro/i,
];
const MOST_ERROR_CHARACTERS = 1_000;
const SESSION_ID_LENGTH = 43;
const SESSION_ID_OR_LONGER = /[\w-]{43,}/g;
/** Longer than this is a hang, ms: no request waits for more than 20 s. */
const MOST_MS = 40_000;

/** What no error and no log may hold. */
export function leaksIn(text: string, { target, sessionIds }: World): string[] {
  const found = target.secrets.filter((secret) => text.includes(secret)).map(() => 'a secret');
  // Text is looked at once, however many sessions there are.
  for (const [word] of text.matchAll(SESSION_ID_OR_LONGER)) {
    for (let at = 0; at + SESSION_ID_LENGTH <= word.length; at++) {
      if (sessionIds.has(word.slice(at, at + SESSION_ID_LENGTH))) found.push('the id of a session');
    }
  }
  return found;
}

/** What is wrong with what a request was answered; empty when all is well. */
export function faultsOf(draft: Draft, outcome: Outcome, world: World): string[] {
  const faults = outcome.answers.flatMap((answer) => [...faultsOfAnswer(draft, answer, world), ...faultsOfReplay(draft, answer, world)]);
  if (outcome.end === 'late') faults.push(`no answer came in ${MOST_MS / 1_000} s`);
  const isWhole = !draft.isWild || draft.twists.length === 0;
  if (isWhole && outcome.answers.length === 0 && outcome.end === 'closed') faults.push('the connection was closed without an answer');
  if (isWhole && outcome.answers.length > 1) faults.push('one request was answered twice');
  return faults;
}

function faultsOfAnswer(draft: Draft, answer: Answer, world: World): string[] {
  const { status, headers, ms } = answer;
  const header = (name: string) => headerOf(answer, name);
  const faults: string[] = [];
  if (status >= 500 && status !== 503) faults.push(`${status}`);
  if ((status === 503 || status === 429) && !/^\d{1,6}$/.test(header('retry-after') ?? '')) faults.push(`${status} without Retry-After`);
  if (status === 405 && header('allow') === undefined) faults.push('405 without Allow');
  if (!isDeclared(draft, answer)) faults.push(`${status} is not declared`);
  if (header('x-content-type-options') !== 'nosniff') faults.push('no X-Content-Type-Options');
  if (header('cache-control') === undefined) faults.push('no Cache-Control');
  if (headers.some(([name]) => name === 'injected')) faults.push('a header was injected');
  const { refusedWith } = draft;
  if (refusedWith && !refusedWith.includes(status)) faults.push(`${draft.twists.join()} must be refused with ${refusedWith.join(' or ')}`);
  if (ms > MOST_MS) faults.push(`it took ${Math.round(ms)} ms`);
  const told = headers
    .filter(([name]) => name !== 'set-cookie')
    .flat()
    .join('\n');
  const type = header('content-type') ?? '';
  const isBinary = /^(?:video|image)\//.test(type);
  const text = isBinary ? '' : answer.body.toString('utf8');
  faults.push(...leaksIn(`${told}\n${text}`, world));
  if (status >= 400 && !(status === 503 && draft.operation.path === '/readyz')) faults.push(...faultsOfError(draft, type, text));
  return faults;
}

/**
 * Replies to the same caller for the same key name the same thing, whatever it was sent with again. What becomes of it (its state, its
 * signature) is told as it stands.
 */
function faultsOfReplay(draft: Draft, { status, body }: Answer, { replies }: World): string[] {
  const [key, ...others] = draft.headers.filter(([name]) => name === 'Idempotency-Key');
  if (draft.isWild || !key || others.length > 0 || status >= 300 || !takesKey(draft.operation)) return [];
  const callers = draft.headers.filter(([name]) => name === 'Cookie' || name === 'Authorization');
  const scope = [draft.method, draft.path, key, callers].join(' ');
  const ids = idsIn(body.toString('utf8'));
  const before = replies.get(scope) ?? ids;
  replies.set(scope, ids);
  const other = Object.keys(ids).find((name) => name in before && before[name] !== ids[name]);
  return other === undefined ? [] : [`an Idempotency-Key brought two things: ${other} was ${before[other]}`];
}
/** The ids that the fields of an answer hold. */
function idsIn(text: string): Readonly<Record<string, string>> {
  const parsed = z.record(z.string(), z.unknown()).safeParse(text === '' ? {} : JSON.parse(text));
  const fields = Object.entries(parsed.data ?? {}).flatMap(([name, id]) =>
    typeof id === 'string' && /^(?:id|\w+Id)$/.test(name) ? [[name, id]] : [],
  );
  return Object.fromEntries(fields);
}
const takesKey = ({ parameters }: Operation) => parameters.some((parameter) => parameter.in === 'header' && parameter.name === 'Idempotency-Key');

function isDeclared(draft: Draft, answer: Answer): boolean {
  if (draft.isWild)
    return (
      answer.status < 400 ||
      GENERIC.has(answer.status) ||
      draft.operation.statuses.has(answer.status) ||
      (draft.twists.includes('method') && OF_ANOTHER.has(answer.status)) ||
      answer.status >= 500 ||
      answer.status === 401
    );
  const types = draft.operation.statuses.get(answer.status);
  // Long heads are refused before anybody knows whose they are.
  // What is no value of a path is no path.
  if (answer.status === 404 && draft.twists.includes('path value')) return true;
  if (types === undefined) return answer.status === 431 && draft.headers.flat().join().length + draft.query.flat().join().length > 4_000;
  if (answer.body.length === 0) return true;
  const type = (headerOf(answer, 'content-type') ?? '').split(';')[0] ?? '';
  return types.includes(type);
}

/** Every error is JSON with one field. */
function faultsOfError(draft: Draft, type: string, text: string): string[] {
  if (text === '') return draft.method === 'HEAD' || draft.isWild ? [] : ['an error without a body'];
  if (!/^application\/json\b/.test(type)) return [`an error as ${type}`];
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return ['an error that is not JSON'];
  }
  if (typeof body !== 'object' || body === null || Object.keys(body).join() !== 'error' || !('error' in body))
    return ['an error that is not { error }'];
  if (typeof body.error !== 'string' || body.error === '') return ['an error without words'];
  const { error } = body;
  const faults = INSIDE.filter((pattern) => pattern.test(error)).map(
    (pattern) => `an error that tells of the inside (${pattern.source.slice(0, 30)})`,
  );
  return error.length > MOST_ERROR_CHARACTERS ? [...faults, `an error of ${error.length} characters`] : faults;
}

/** What is wrong with a line of a log. */
export function faultsOfLine(line: string, world: World): string[] {
  const leaks = leaksIn(line, world).map((what) => `a log holds ${what}: ${line.slice(0, 500)}`);
  if (/^\{.*"level":"(?:error|fatal)"/.test(line)) return [...leaks, `an error was logged: ${line.slice(0, 2_000)}`];
  // Node itself: warnings, deprecations, uncaught rejections.
  return line.startsWith('{') || line.trim() === '' ? leaks : [...leaks, `a process said: ${line.slice(0, 500)}`];
}
