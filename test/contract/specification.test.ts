import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { MAX_JSON_BYTES } from '#platform/http/body.ts';
import { ADMIN_TOKEN, startTestApp, type TestApp } from '#test/support/app.ts';
import { createSecret, standardHeaders, xHeaders } from '#test/support/http/webhook.ts';
import { type SignedIn, signIn } from '#test/support/wallet.ts';
import { type Caller, OTHER_ENDPOINTS, SPECIFICATION, type SpecifiedEndpoint } from './specification.ts';

/** The parts of /openapi.json that these tests read. */
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
  // Successes in this file do not count as coverage of an endpoint, because the tests check only schemas and errors.
  const { TEST_SUCCESSES: successes } = process.env;
  delete process.env.TEST_SUCCESSES;
  // An unreachable URL: these tests must not call external services.
  const nowhere = 'http://127.0.0.1:1/';
  const secrets = { WEBHOOK_SECRET_PAYMENT_STATUS: STANDARD, WEBHOOK_SECRET_CHAT_BRIDGE: STANDARD, WEBHOOK_SECRET_X: CONSUMER };
  t = await startTestApp({ workers: false, env: { ...secrets, PRICE_URL: nowhere, SOLANA_RPC_URL: nowhere } });
  if (successes !== undefined) process.env.TEST_SUCCESSES = successes;
  document = JSON.parse(await (await fetch(`${t.url}/openapi.json`)).text());
  player = await signIn(t);
});
afterAll(() => t.close());

function operationOf({ path, method, name }: SpecifiedEndpoint): Operation {
  const operation = document.paths[path]?.[method.toLowerCase()];
  if (!operation) throw new Error(`${name} is not in the document`);
  return operation;
}
/** Returns the names of the documented endpoints that match a condition. The first test reports missing endpoints. */
const namesWhere = (holds: (endpoint: SpecifiedEndpoint, operation: Operation) => boolean) =>
  SPECIFICATION.filter((endpoint) => document.paths[endpoint.path]?.[endpoint.method.toLowerCase()] && holds(endpoint, operationOf(endpoint))).map(
    ({ name }) => name,
  );

describe('the OpenAPI document', () => {
  test('has every endpoint of the specification with its method and path', () => {
    expect(SPECIFICATION.length).toBe(112);
    expect(new Set(SPECIFICATION.map(({ name }) => name)).size).toBe(112);
    const present = new Set(
      Object.entries(document.paths).flatMap(([path, item]) => Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`)),
    );
    expect([...SPECIFICATION.map(({ name }) => name), ...OTHER_ENDPOINTS].filter((name) => !present.has(name))).toEqual([]);
  });

  /** Accepted security requirements per kind of credentials. */
  const SECURITY: Record<Caller, RegExp> = {
    none: /^(\{\} \{session\} \{sessionToken\})?$/,
    session: /^\{session\} \{sessionToken\}( \{admin\})?$/,
    admin: /^\{admin\}$/,
    internal: /^\{internal\}$/,
    webhook: /^\{webhookX?\}$/,
  };
  test('requires exactly the credentials of the specification', () => {
    const asks = ({ security }: Operation) => security.map((one) => `{${Object.keys(one).join()}}`).join(' ');
    expect(namesWhere(({ caller }, operation) => !SECURITY[caller].test(asks(operation)))).toEqual([]);
  });

  const resolve = (schema: Schema | undefined): Schema => {
    const name = schema?.$ref?.split('/').at(-1);
    return name === undefined ? (schema ?? {}) : resolve(document.components.schemas[name]);
  };
  const isNull = (schema: Schema) => resolve(schema).type === 'null';
  /** Returns the alternatives of a schema, without null. */
  const alternatives = (schema: Schema): Schema[] => {
    const { anyOf, oneOf, ...rest } = resolve(schema);
    return (anyOf ?? oneOf ?? [rest]).filter((one) => !isNull(one)).flatMap((one) => (one === rest ? [rest] : alternatives(one)));
  };
  /** Returns whether a field is required in every alternative of a schema, and in the items of every list in the path. */
  const has = (schema: Schema | undefined, [field, ...rest]: readonly string[]): boolean =>
    field === undefined ||
    alternatives(schema ?? {}).every((one) => {
      if (one.items) return has(one.items, [field, ...rest]);
      if (one.allOf) return one.allOf.some((part) => has(part, [field, ...rest]));
      return one.required?.includes(field) === true && has(one.properties?.[field], rest);
    });
  const responseSchemaOf = ({ responses }: Operation) => (responses[200] ?? responses[201])?.content?.['application/json']?.schema;

  test('declares every response field of the specification as required', () => {
    const missing = SPECIFICATION.flatMap((endpoint) => {
      const operation = document.paths[endpoint.path]?.[endpoint.method.toLowerCase()];
      if (!operation) return [];
      return endpoint.fields.filter((field) => !has(responseSchemaOf(operation), field.split('.'))).map((field) => `${endpoint.name}: ${field}`);
    });
    expect(missing).toEqual([]);
  });

  test('declares arrays and null responses exactly where the specification has them', () => {
    const isArray = (schema: Schema | undefined) => alternatives(schema ?? {}).every(({ items }) => items !== undefined);
    expect(namesWhere(({ isList, fields }, operation) => fields.length > 0 && isArray(responseSchemaOf(operation)) !== isList)).toEqual([]);
    const mayBeNull = (schema: Schema | undefined) => [...(schema?.anyOf ?? []), ...(schema?.oneOf ?? [])].some(isNull);
    expect(namesWhere(({ isNullable }, operation) => mayBeNull(responseSchemaOf(operation)) !== isNullable)).toEqual([]);
  });
});

/** Returns the path of an endpoint with the examples of the document, or one value, as parameters. */
const pathOf = (endpoint: SpecifiedEndpoint, value?: string) =>
  endpoint.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const parameter = operationOf(endpoint).parameters?.find((one) => one.in === 'path' && one.name === name);
    const shared = document.components.schemas[parameter?.schema.$ref?.split('/').at(-1) ?? ''];
    return value ?? encodeURIComponent(String(parameter?.example ?? parameter?.schema.example ?? shared?.example ?? randomUUID()));
  });

interface TestRequest {
  readonly path?: string;
  readonly query?: string;
  readonly body?: string;
  readonly type?: string;
  /** false: sends no credentials. */
  readonly authenticated?: boolean;
}
interface TestResponse {
  readonly status: number;
  readonly text: string;
}

function credentials({ caller, path }: SpecifiedEndpoint, body: string): Record<string, string> {
  if (caller === 'session') return { Cookie: player.cookie };
  if (caller === 'admin' || caller === 'internal') return { Authorization: `Bearer ${ADMIN_TOKEN}` };
  if (caller === 'none') return {};
  return path.includes('/x/') ? xHeaders(CONSUMER, body) : standardHeaders(STANDARD, randomUUID(), Math.floor(Date.now() / 1_000), body);
}

async function sendTo(
  endpoint: SpecifiedEndpoint,
  { path = pathOf(endpoint), query = '', body, type = 'application/json', authenticated = true }: TestRequest,
): Promise<TestResponse> {
  const response = await fetch(`${t.url}${path}${query}`, {
    method: endpoint.method,
    headers: { ...(body === undefined ? {} : { 'Content-Type': type }), ...(authenticated ? credentials(endpoint, body ?? '') : {}) },
    ...(body === undefined ? {} : { body }),
  });
  if (response.headers.get('Content-Type')?.startsWith('text/event-stream')) {
    await response.body?.cancel();
    return { status: response.status, text: '' };
  }
  return { status: response.status, text: await response.text() };
}

/** Sends requests that must be refused with `{ error }`, one of the statuses, and a status that the document declares. @returns the violations */
async function failures(statuses: readonly number[], requests: readonly (readonly [SpecifiedEndpoint, TestRequest])[]): Promise<string[]> {
  const wrong: string[] = [];
  for (const [endpoint, what] of requests) {
    const { status, text } = await sendTo(endpoint, what);
    const isRefusal = /^\{"error":"(?:[^"\\]|\\.)+"\}$/.test(text) && String(status) in operationOf(endpoint).responses;
    if (!statuses.includes(status) || !isRefusal)
      wrong.push(`${endpoint.name} ${JSON.stringify(what).slice(0, 120)}: ${status} ${text.slice(0, 200)}`);
  }
  return wrong;
}

describe('the endpoints of the specification', () => {
  let documented: readonly SpecifiedEndpoint[];
  let unsafe: readonly SpecifiedEndpoint[];
  beforeAll(() => {
    documented = SPECIFICATION.filter(({ path, method }) => document.paths[path]?.[method.toLowerCase()]);
    unsafe = documented.filter(({ method }) => method !== 'GET');
  });
  const example = (endpoint: SpecifiedEndpoint) => operationOf(endpoint).requestBody?.content['application/json']?.example;
  /** Returns whether an endpoint accepts unknown fields in its body. */
  const isLoose = ({ caller, path }: SpecifiedEndpoint) => caller === 'webhook' || /\/(state|record)$|\/theme$/.test(path);
  const takesJson = (endpoint: SpecifiedEndpoint) => {
    const { requestBody } = operationOf(endpoint);
    return !requestBody || 'application/json' in requestBody.content;
  };

  test.each([
    ['session', 401],
    ['admin', 403],
    ['internal', 403],
    ['webhook', 401],
  ] as const)('an endpoint for %s refuses a request without credentials with %i', async (caller, status) => {
    const requests = documented.filter((endpoint) => endpoint.caller === caller).map((endpoint) => [endpoint, { authenticated: false }] as const);
    expect(requests.length).toBeGreaterThan(0);
    expect(await failures([status], requests)).toEqual([]);
  });

  test('public endpoints accept requests without credentials', async () => {
    const refused: string[] = [];
    for (const endpoint of documented.filter(({ caller }) => caller === 'none')) {
      const { status } = await sendTo(endpoint, endpoint.method === 'GET' ? {} : { body: '{}' });
      if (status === 401 || status === 403) refused.push(endpoint.name);
    }
    expect(refused).toEqual([]);
  });

  test('a body that is not JSON, has another content type or is too large is refused', async () => {
    const json = unsafe.filter(takesJson);
    expect(
      await failures(
        [400],
        json.map((endpoint) => [endpoint, { body: '{"a":' }] as const),
      ),
    ).toEqual([]);
    expect(
      await failures(
        [415],
        unsafe.map((endpoint) => [endpoint, { body: 'a=1', type: 'application/x-www-form-urlencoded' }] as const),
      ),
    ).toEqual([]);
    const large = JSON.stringify({ text: 'x'.repeat(MAX_JSON_BYTES) });
    expect(
      await failures(
        [413],
        json.map((endpoint) => [endpoint, { body: large }] as const),
      ),
    ).toEqual([]);
  });

  test('a body of the wrong type or with an unknown field is refused with 400', async () => {
    const strict = unsafe.filter((endpoint) => takesJson(endpoint) && !/\/(state|record)$/.test(endpoint.path));
    for (const body of ['"text"', '[1]', 'null']) {
      expect(
        await failures(
          [400],
          strict.map((endpoint) => [endpoint, { body }] as const),
        ),
      ).toEqual([]);
    }
    const exampleOf = (endpoint: SpecifiedEndpoint) => example(endpoint) ?? {};
    const requests = strict
      .filter((endpoint) => !isLoose(endpoint))
      .map((endpoint) => [endpoint, { body: JSON.stringify({ ...exampleOf(endpoint), nonsense: 1 }) }] as const);
    expect(await failures([400], requests)).toEqual([]);
  });

  test('a malformed query parameter is refused with 400', async () => {
    const requests = documented.flatMap((endpoint) =>
      (operationOf(endpoint).parameters ?? []).flatMap((parameter) => {
        const { type, enum: values } = parameter.schema;
        if (parameter.in !== 'query' || (type !== 'integer' && type !== 'number' && !values)) return [];
        return ['nonsense', '-1', '1e99'].map((value) => [endpoint, { query: `?${parameter.name}=${value}` }] as const);
      }),
    );
    expect(requests.length).toBeGreaterThan(30);
    expect(await failures([400], requests)).toEqual([]);
  });

  test('a malformed path parameter is refused with 404', async () => {
    const named = documented.filter(({ path }) => path.includes('{'));
    const requests = named.flatMap((endpoint) => {
      const body = example(endpoint);
      const sent = body === undefined ? {} : { body: JSON.stringify(body) };
      return ['nonsense', '%01', '%F0%9F%91%BE', '-1', 'x'.repeat(500)].map(
        (value) => [endpoint, { ...sent, path: pathOf(endpoint, value) }] as const,
      );
    });
    expect(await failures([404], requests)).toEqual([]);
  });
});
