import { createContext, Script } from 'node:vm';
import { maxComputeDuring } from './attacks.ts';
import { ClientState } from './client-state.ts';
import { Connection } from './connection.ts';
import type { Document, Schema } from './document.ts';
import { lastOf } from './document.ts';
import { Random } from './random.ts';
import { withNormalFraming } from './requests/framing.ts';
import type { Draft } from './requests/request-builder.ts';
import { RequestBuilder } from './requests/request-builder.ts';
import type { OwnTarget } from './target.ts';

/**
 * Texts that are repeated until a body has the maximum size. The repeated texts nearly match the patterns of the service, so matching takes the most
 * time.
 */
const FILLINGS = ['z', '9', ' ', 'a-', 'A.', '\u0301'] as const;
const MAX_BODY_BYTES = 250_000;
/** Maximum processor time of a request with a large body, ms. Algorithms whose time grows faster than the body take minutes. */
const MAX_BODY_MS = 4_000;
/** Maximum processor time of a request with a long query, ms. */
const MAX_QUERY_MS = 400;
const PATTERN_MS = 1_000;

/**
 * Sends bodies of maximum size to every operation with a JSON body. Every text and list in these bodies is as long as possible. The service must
 * still answer other clients.
 * @param maxBodies the maximum number of bodies per operation; the first body is always sent, and the selection of the other bodies differs between
 * operations
 */
export async function longBodies(document: Document, target: OwnTarget, maxBodies = Number.POSITIVE_INFINITY): Promise<string[]> {
  const state = new ClientState(target);
  await state.open();
  const builder = new RequestBuilder(document, state);
  const { port, host } = new URL(target.url);
  const faults: string[] = [];
  const connection = new Connection(Number(port));
  await maxComputeDuring(target, async () => {
    for (const [i, operation] of document.operations.entries()) {
      const schema = operation.bodies['application/json']?.schema;
      if (!schema) continue;
      const [first = '', ...others] = largestBodies(document, schema);
      const turned = others.map((_, at) => others[(at + i) % others.length] ?? '');
      for (const body of [first, ...turned].slice(0, maxBodies)) {
        const draft: Draft = builder.valid(operation, new Random(1, i));
        draft.body = Buffer.from(body);
        draft.headers = draft.headers.filter(([name]) => name !== 'Content-Type' && !/^(?:x-twitter-)?webhooks?-/.test(name));
        draft.headers.push(['Content-Type', 'application/json']);
        if (operation.callers.some((caller) => caller.startsWith('webhook'))) builder.sign(draft, operation.callers[0] ?? '', new Random(1, i));
        const before = target.cpuMs();
        const { responses, end } = await connection.send({ ...withNormalFraming(draft, host), timeoutMs: 60_000 });
        const [answer] = responses;
        const what = `${operation.name} with ${body.slice(0, 60)}…`;
        if (!answer) faults.push(`${what}: ${end}`);
        else if (answer.status >= 500 && answer.status !== 503) faults.push(`${what}: ${answer.status}`);
        else if (target.cpuMs() - before > MAX_BODY_MS) faults.push(`${what} took ${target.cpuMs() - before} ms`);
      }
    }
  });
  connection.close();
  return faults;
}

/** Sends very long queries to each operation with query parameters. Returns a fault for each request that takes too much processor time. */
export async function longQueries(document: Document, target: OwnTarget): Promise<string[]> {
  const state = new ClientState(target);
  await state.open();
  const builder = new RequestBuilder(document, state);
  const { port, host } = new URL(target.url);
  const connection = new Connection(Number(port));
  const faults: string[] = [];
  for (const [i, operation] of document.operations.entries()) {
    const names = operation.parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name);
    if (names.length === 0) continue;
    const others = Array.from({ length: 3_000 }, (_, n) => n.toString(36)).join('&');
    for (const query of [`a${'&a'.repeat(6_500)}`, others, `${names[0]}=1${`&${names[0]}=1`.repeat(12_000 / (names[0] ?? '').length / 2)}`]) {
      const draft = builder.valid(operation, new Random(2, i));
      draft.query = [];
      draft.path = `${draft.path}?${query.slice(0, 13_000)}`;
      const before = target.cpuMs();
      const { responses, end } = await connection.send({ ...withNormalFraming(draft, host), timeoutMs: 60_000 });
      const took = target.cpuMs() - before;
      if (!responses[0] || (responses[0].status >= 500 && responses[0].status !== 503))
        faults.push(`${operation.name}: ${responses[0]?.status ?? end}`);
      else if (took > MAX_QUERY_MS) faults.push(`${operation.name} with ?${query.slice(0, 20)}… took ${took} ms`);
    }
  }
  connection.close();
  return faults;
}

/**
 * Returns bodies of maximum size: one body per filling, in which every text consists of the filling, then bodies with a long list of numbers, with
 * very many fields, and with full lists.
 */
function largestBodies(document: Document, schema: Schema): string[] {
  const leaves = Math.max(1, JSON.stringify(filled(document, schema, '§')).split('§').length - 1);
  const texts = FILLINGS.map((filling) => {
    const times = Math.floor(MAX_BODY_BYTES / leaves / Buffer.byteLength(filling));
    return JSON.stringify(filled(document, schema, filling.repeat(times)));
  });
  const numbers = `{"a":[${'1e308,'.repeat(40_000)}1]}`;
  const fields = `{${Array.from({ length: 15_000 }, (_, i) => `"k${i}":${i}`).join()}}`;
  const integers = `{${Array.from({ length: 15_000 }, (_, i) => `"${i * 65_536}":${i}`).join()}}`;
  const list = JSON.stringify(filled(document, schema, 'x', 20_000)).slice(0, MAX_BODY_BYTES * 2);
  return [...texts, numbers, fields, integers, ...(list.length < MAX_BODY_BYTES ? [list] : [])];
}

/**
 * Returns a value with the structure of a schema, in which every text is `text`.
 * @param items the length of the outermost lists
 */
function filled(document: Document, schema: Schema, text: string, items = 1, depth = 0): unknown {
  if (schema.$ref !== undefined) return filled(document, document.schemas[lastOf(schema.$ref)] ?? {}, text, items, depth);
  const [branch] = schema.oneOf ?? schema.anyOf ?? schema.allOf ?? [];
  if (branch) return filled(document, branch, text, items, depth);
  if (schema.const !== undefined) return schema.const;
  if (schema.properties && depth < 6) {
    return Object.fromEntries(Object.entries(schema.properties).map(([key, field]) => [key, filled(document, field, text, items, depth + 1)]));
  }
  if (schema.items && depth < 6) return Array.from({ length: items }, () => filled(document, schema.items ?? {}, text, 1, depth + 1));
  if (schema.type === 'integer' || schema.type === 'number') return 1e300;
  return text;
}

/**
 * Matches every pattern of the OpenAPI document against long texts that nearly match the pattern. Returns the patterns that exceed the time limit.
 */
export function slowPatterns(document: Document): string[] {
  const patterns = new Set<string>();
  JSON.stringify(document.schemas, (key, value: unknown) => {
    if (key === 'pattern' && typeof value === 'string') patterns.add(value);
    return value;
  });
  JSON.stringify(document.operations, (key, value: unknown) => {
    if (key === 'pattern' && typeof value === 'string') patterns.add(value);
    return value;
  });
  const parts = ['a', '0', 'A', '-', ' ', '.', 'a-', '0.', 'https://x.com/', 'f0', '_', '\n', '20', 'é'];
  const texts = parts.flatMap((part) =>
    ['', 'a', '0', 'https://x.com/'].map((before) => `${before}${part.repeat(Math.floor(100_000 / part.length))}!`),
  );
  return [...patterns].flatMap((pattern) => {
    const context = createContext({ pattern: new RegExp(pattern, 'u'), texts });
    try {
      new Script('for (const text of texts) pattern.test(text)').runInContext(context, { timeout: PATTERN_MS * 5 });
      return [];
    } catch {
      return [pattern];
    }
  });
}
