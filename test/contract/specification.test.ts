import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { MAX_JSON_BYTES } from '#platform/http/body.ts';
import { ADMIN_TOKEN, startTestApp, type TestApp } from '#test/support/app.ts';
import { createSecret, standardHeaders, xHeaders } from '#test/support/http/webhook.ts';
import { type SignedIn, signIn } from '#test/support/wallet.ts';
import { BESIDES, type Caller, type Promised, SPECIFICATION } from './specification.ts';

/** What is read here of the document, as it is served. */
interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly example?: unknown;
}
type Content = Readonly<Record<string, { readonly schema?: Schema; readonly example?: unknown } | undefined>>;
interface Operation {
  readonly security: readonly Readonly<Record<string, unknown>>[];
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly schema: Schema; readonly example?: unknown }[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation | undefined>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

const STANDARD = createSecret();
const CONSUMER = 'consumer-secret-of-this-test';
let t: TestApp;
let document: Document;
let player: SignedIn;
beforeAll(async () => {
  // What is only asked for here is no proof that it does what it is for.
  const { TEST_SUCCESSES: successes } = process.env;
  delete process.env.TEST_SUCCESSES;
  // Nothing is asked for elsewhere: what it would answer is not what is tested.
  const nowhere = 'http://127.0.0.1:1/';
  const secrets = { WEBHOOK_SECRET_PAYMENT_STATUS: STANDARD, WEBHOOK_SECRET_CHAT_BRIDGE: STANDARD, WEBHOOK_SECRET_X: CONSUMER };
  t = await startTestApp({ workers: false, env: { ...secrets, PRICE_URL: nowhere, SOLANA_RPC_URL: nowhere } });
  if (successes !== undefined) process.env.TEST_SUCCESSES = successes;
  document = JSON.parse(await (await fetch(`${t.url}/openapi.json`)).text());
  player = await signIn(t);
});
afterAll(() => t.close());

function operationOf({ path, method, name }: Promised): Operation {
  const operation = document.paths[path]?.[method.toLowerCase()];
  if (!operation) throw new Error(`${name} is not in the document`);
  return operation;
}
/** The names of the endpoints of which something holds; what is not there at all is told by the first test. */
const those = (holds: (endpoint: Promised, operation: Operation) => boolean) =>
  SPECIFICATION.filter((endpoint) => document.paths[endpoint.path]?.[endpoint.method.toLowerCase()] && holds(endpoint, operationOf(endpoint))).map(
    ({ name }) => name,
  );

describe('the document', () => {
  test('has everything that is promised, at its method and path', () => {
    expect(SPECIFICATION.length).toBe(112);
    expect(new Set(SPECIFICATION.map(({ name }) => name)).size).toBe(112);
    const present = new Set(
      Object.entries(document.paths).flatMap(([path, item]) => Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`)),
    );
    expect([...SPECIFICATION.map(({ name }) => name), ...BESIDES].filter((name) => !present.has(name))).toEqual([]);
  });

  /** How a caller may say who it is, any one of these. */
  const SECURITY: Record<Caller, RegExp> = {
    none: /^(\{\} \{session\})?$/,
    session: /^\{session\}( \{admin\})?$/,
    admin: /^\{admin\}$/,
    internal: /^\{internal\}$/,
    webhook: /^\{webhookX?\}$/,
  };
  test('asks of each caller what is promised, and no more', () => {
    const asks = ({ security }: Operation) => security.map((one) => `{${Object.keys(one).join()}}`).join(' ');
    expect(those(({ caller }, operation) => !SECURITY[caller].test(asks(operation)))).toEqual([]);
  });

  const resolve = (schema: Schema | undefined): Schema => {
    const name = schema?.$ref?.split('/').at(-1);
    return name === undefined ? (schema ?? {}) : resolve(document.components.schemas[name]);
  };
  const isNull = (schema: Schema) => resolve(schema).type === 'null';
  /** What a value may be, null aside. */
  const alternatives = (schema: Schema): Schema[] => {
    const { anyOf, oneOf, ...rest } = resolve(schema);
    return (anyOf ?? oneOf ?? [rest]).filter((one) => !isNull(one)).flatMap((one) => (one === rest ? [rest] : alternatives(one)));
  };
  /** Whether a value always has a field: in each of its alternatives, and in each item on the way. */
  const has = (schema: Schema | undefined, [field, ...rest]: readonly string[]): boolean =>
    field === undefined ||
    alternatives(schema ?? {}).every((one) => {
      if (one.items) return has(one.items, [field, ...rest]);
      if (one.allOf) return one.allOf.some((part) => has(part, [field, ...rest]));
      return one.required?.includes(field) === true && has(one.properties?.[field], rest);
    });
  const answerOf = ({ responses }: Operation) => (responses[200] ?? responses[201])?.content?.['application/json']?.schema;

  test('declares answers with every field that is named', () => {
    const missing = SPECIFICATION.flatMap((endpoint) => {
      const operation = document.paths[endpoint.path]?.[endpoint.method.toLowerCase()];
      if (!operation) return [];
      return endpoint.fields.filter((field) => !has(answerOf(operation), field.split('.'))).map((field) => `${endpoint.name}: ${field}`);
    });
    expect(missing).toEqual([]);
  });

  test('declares bare arrays where lists are promised, and null only where it is', () => {
    const isArray = (schema: Schema | undefined) => alternatives(schema ?? {}).every(({ items }) => items !== undefined);
    expect(those(({ isList, fields }, operation) => fields.length > 0 && isArray(answerOf(operation)) !== isList)).toEqual([]);
    const mayBeNull = (schema: Schema | undefined) => [...(schema?.anyOf ?? []), ...(schema?.oneOf ?? [])].some(isNull);
    expect(those(({ isNullable }, operation) => mayBeNull(answerOf(operation)) !== isNullable)).toEqual([]);
  });
});

/** What a path is asked with: examples of the document, or one thing for all. */
const pathOf = (endpoint: Promised, thing?: string) =>
  endpoint.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const parameter = operationOf(endpoint).parameters?.find((one) => one.in === 'path' && one.name === name);
    return thing ?? encodeURIComponent(String(parameter?.example ?? parameter?.schema.example ?? randomUUID()));
  });

interface Asked {
  readonly path?: string;
  readonly query?: string;
  readonly body?: string;
  readonly type?: string;
  /** false: as nobody. */
  readonly known?: boolean;
}
interface Answered {
  readonly status: number;
  readonly text: string;
}

function credentials({ caller, path }: Promised, body: string): Record<string, string> {
  if (caller === 'session') return { Cookie: player.cookie };
  if (caller === 'admin' || caller === 'internal') return { Authorization: `Bearer ${ADMIN_TOKEN}` };
  if (caller === 'none') return {};
  return path.includes('/x/') ? xHeaders(CONSUMER, body) : standardHeaders(STANDARD, randomUUID(), Math.floor(Date.now() / 1_000), body);
}

async function ask(
  endpoint: Promised,
  { path = pathOf(endpoint), query = '', body, type = 'application/json', known = true }: Asked,
): Promise<Answered> {
  const response = await fetch(`${t.url}${path}${query}`, {
    method: endpoint.method,
    headers: { ...(body === undefined ? {} : { 'Content-Type': type }), ...(known ? credentials(endpoint, body ?? '') : {}) },
    ...(body === undefined ? {} : { body }),
  });
  if (response.headers.get('Content-Type')?.startsWith('text/event-stream')) {
    await response.body?.cancel();
    return { status: response.status, text: '' };
  }
  return { status: response.status, text: await response.text() };
}

/** The answers that are not what they must be: a refusal of one of these statuses, declared, and exactly `{ error }`. */
async function unlike(statuses: readonly number[], asked: readonly (readonly [Promised, Asked])[]): Promise<string[]> {
  const wrong: string[] = [];
  for (const [endpoint, what] of asked) {
    const { status, text } = await ask(endpoint, what);
    const isRefusal = /^\{"error":"(?:[^"\\]|\\.)+"\}$/.test(text) && String(status) in operationOf(endpoint).responses;
    if (!statuses.includes(status) || !isRefusal)
      wrong.push(`${endpoint.name} ${JSON.stringify(what).slice(0, 120)}: ${status} ${text.slice(0, 200)}`);
  }
  return wrong;
}

describe('the service', () => {
  let there: readonly Promised[];
  let unsafe: readonly Promised[];
  beforeAll(() => {
    there = SPECIFICATION.filter(({ path, method }) => document.paths[path]?.[method.toLowerCase()]);
    unsafe = there.filter(({ method }) => method !== 'GET');
  });
  const example = (endpoint: Promised) => operationOf(endpoint).requestBody?.content['application/json']?.example;
  /** What it is sent is free-form, or read loosely. */
  const isLoose = ({ caller, path }: Promised) => caller === 'webhook' || /\/(state|record)$|\/theme$/.test(path);
  const takesJson = (endpoint: Promised) => {
    const { requestBody } = operationOf(endpoint);
    return !requestBody || 'application/json' in requestBody.content;
  };

  test.each([
    ['session', 401],
    ['admin', 403],
    ['internal', 403],
    ['webhook', 401],
  ] as const)('refuses who is not known: %s is %i', async (caller, status) => {
    const asked = there.filter((endpoint) => endpoint.caller === caller).map((endpoint) => [endpoint, { known: false }] as const);
    expect(asked.length).toBeGreaterThan(0);
    expect(await unlike([status], asked)).toEqual([]);
  });

  test('asks nothing of those who need not be known', async () => {
    const refused: string[] = [];
    for (const endpoint of there.filter(({ caller }) => caller === 'none')) {
      const { status } = await ask(endpoint, endpoint.method === 'GET' ? {} : { body: '{}' });
      if (status === 401 || status === 403) refused.push(endpoint.name);
    }
    expect(refused).toEqual([]);
  });

  test('refuses bodies that are not JSON, of another type, or too large', async () => {
    const json = unsafe.filter(takesJson);
    expect(
      await unlike(
        [400],
        json.map((endpoint) => [endpoint, { body: '{"a":' }] as const),
      ),
    ).toEqual([]);
    expect(
      await unlike(
        [415],
        unsafe.map((endpoint) => [endpoint, { body: 'a=1', type: 'application/x-www-form-urlencoded' }] as const),
      ),
    ).toEqual([]);
    const large = JSON.stringify({ text: 'x'.repeat(MAX_JSON_BYTES) });
    expect(
      await unlike(
        [413],
        json.map((endpoint) => [endpoint, { body: large }] as const),
      ),
    ).toEqual([]);
  });

  test('refuses bodies of a wrong shape, and fields that nobody knows', async () => {
    const strict = unsafe.filter((endpoint) => takesJson(endpoint) && !/\/(state|record)$/.test(endpoint.path));
    for (const body of ['"text"', '[1]', 'null']) {
      expect(
        await unlike(
          [400],
          strict.map((endpoint) => [endpoint, { body }] as const),
        ),
      ).toEqual([]);
    }
    const known = (endpoint: Promised) => example(endpoint) ?? {};
    const asked = strict
      .filter((endpoint) => !isLoose(endpoint))
      .map((endpoint) => [endpoint, { body: JSON.stringify({ ...known(endpoint), nonsense: 1 }) }] as const);
    expect(await unlike([400], asked)).toEqual([]);
  });

  test('refuses queries that say nothing', async () => {
    const asked = there.flatMap((endpoint) =>
      (operationOf(endpoint).parameters ?? []).flatMap((parameter) => {
        const { type, enum: values } = parameter.schema;
        if (parameter.in !== 'query' || (type !== 'integer' && type !== 'number' && !values)) return [];
        return ['nonsense', '-1', '1e99'].map((value) => [endpoint, { query: `?${parameter.name}=${value}` }] as const);
      }),
    );
    expect(asked.length).toBeGreaterThan(30);
    expect(await unlike([400], asked)).toEqual([]);
  });

  test('knows nothing of what cannot be, however it is called', async () => {
    const named = there.filter(({ path }) => path.includes('{'));
    const asked = named.flatMap((endpoint) => {
      const body = example(endpoint);
      const sent = body === undefined ? {} : { body: JSON.stringify(body) };
      return ['nonsense', '%01', '%F0%9F%91%BE', '-1', 'x'.repeat(500)].map(
        (thing) => [endpoint, { ...sent, path: pathOf(endpoint, thing) }] as const,
      );
    });
    expect(await unlike([400, 404], asked)).toEqual([]);
  });
});
