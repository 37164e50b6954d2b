import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { z } from 'zod';
import { routes as routesByCaller } from '#areas/index.ts';
import { readConfig } from '#config';
import { openApi } from '#platform/http/openapi/document.ts';
import { type AnyRoute, isStream } from '#platform/http/route.ts';
import { ADMIN_TOKEN, startTestApp, type TestApp } from '#test/support/app.ts';
import { type SignedIn, signIn } from '#test/support/wallet.ts';

/** The parts of a JSON Schema that these tests read. */
interface Field {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly example?: unknown;
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, Field>>;
  readonly properties?: Readonly<Record<string, Field>>;
  readonly anyOf?: readonly Field[];
  readonly oneOf?: readonly Field[];
}

const routes: readonly AnyRoute[] = Object.values(routesByCaller).flat();
const document = openApi(readConfig({}), routes);
const UUID_IN_CAPITALS = '0199B3A2-7C1E-7D44-9A57-2F1F5E0C9B1A';
/** Texts that are no id of any resource: no slug, no UUID, no address, no day number. */
const MALFORMED = [UUID_IN_CAPITALS, 'Not_An_Id!', '-', '%F0%9F%91%BE', '..%2f..%2fetc', 'x'.repeat(600)];

let t: TestApp;
let player: SignedIn;
beforeAll(async () => {
  t = await startTestApp({ workers: false, env: { SOLANA_RPC_URL: 'http://127.0.0.1:1/', PRICE_URL: 'http://127.0.0.1:1/' } });
  player = await signIn(t);
});
afterAll(() => t.close());

const schemaOf = (schema: z.ZodType): Field => z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Field;
/** Returns the schema that a field names, with the example of the field itself if it has one. */
function resolve(field: Field, root: Field): Field {
  const named = field.$ref === undefined ? undefined : root.$defs?.[field.$ref.split('/').at(-1) ?? ''];
  return named ? { ...resolve(named, root), ...(field.example === undefined ? {} : { example: field.example }) } : field;
}
/** Returns the example body of a route in the OpenAPI document; undefined for a route without a JSON body. */
function bodyOf(route: AnyRoute): unknown {
  const body = document.paths?.[route.path]?.[route.method]?.requestBody;
  const media = body && 'content' in body ? body.content['application/json'] : undefined;
  return media && 'example' in media ? media.example : undefined;
}

const exampleOf = (field: Field, root: Field): string => String(field.example ?? field.enum?.[0] ?? resolve(field, root).example ?? '');

async function answer(route: AnyRoute, path: string, json?: unknown): Promise<string> {
  const headers = new Headers({ Cookie: player.cookie });
  if (typeof route.auth === 'object' || route.auth === 'internal') headers.set('Authorization', `Bearer ${ADMIN_TOKEN}`);
  const init: RequestInit = { method: route.method.toUpperCase(), headers };
  if (json !== undefined) {
    headers.set('Content-Type', 'application/json');
    init.body = JSON.stringify(json);
  }
  const response = await fetch(`${t.url}${path}`, init);
  const text = await response.text();
  return /^\{"(?:error|message)":"(?:[^"\\]|\\.)+"\}$/.test(text) ? `${response.status}` : `${response.status} ${text.slice(0, 100)}`;
}

test('a malformed id of a resource in a path is 404 in every route', async () => {
  const wrong: string[] = [];
  let requests = 0;
  for (const route of routes) {
    if (!route.params) continue;
    const root = schemaOf(route.params);
    for (const name of Object.keys(root.properties ?? {})) {
      for (const value of MALFORMED) {
        const path = route.path.replace(/\{(\w+)\}/g, (_, other: string) =>
          other === name ? value : encodeURIComponent(exampleOf(root.properties?.[other] ?? {}, root)),
        );
        const got = await answer(route, path, bodyOf(route));
        requests++;
        if (got !== '404') wrong.push(`${route.method.toUpperCase()} ${path.slice(0, 120)}: ${got}`);
      }
    }
  }
  expect(requests).toBeGreaterThan(300);
  expect(wrong).toEqual([]);
}, 60_000);

/** Names of fields that hold the id of a resource. The field `id` of a receipt from another network is not one. */
const ID_FIELD = /^(?:id|wallet|code|\w+Id)$/;
/** Fields with texts that another service chose. */
const FOREIGN = new Set(['POST /integrations/chat/messages messageId', 'POST /auth/social/link/verify code']);

/** Returns the fields of an object schema, and of its alternatives, that hold the id of a resource. */
function idFields(schema: Field, root: Field): string[] {
  const whole = resolve(schema, root);
  const own = Object.entries(whole.properties ?? {}).flatMap(([name, field]) => {
    const isText = [field, ...(field.anyOf ?? [])].some((one) => resolve(one, root).type === 'string');
    return ID_FIELD.test(name) && isText ? [name] : [];
  });
  return [...new Set([...own, ...[...(whole.anyOf ?? []), ...(whole.oneOf ?? [])].flatMap((one) => idFields(one, root))])];
}

test('a malformed id in a field of a body or of a query is 400 in every route', async () => {
  const wrong: string[] = [];
  let requests = 0;
  for (const route of routes) {
    const path = route.path.replace(/\{(\w+)\}/g, (_, name: string) => {
      const root = schemaOf(route.params ?? z.object({}));
      return encodeURIComponent(exampleOf(root.properties?.[name] ?? {}, root));
    });
    const body = route.body && isStream(route.body) ? route.body.json : route.body;
    const bodySchema = body ? schemaOf(body) : {};
    const fields = idFields(bodySchema, bodySchema).filter((name) => !FOREIGN.has(`${route.method.toUpperCase()} ${route.path} ${name}`));
    for (const name of fields) {
      const example = bodyOf(route);
      const got = await answer(route, path, { ...(typeof example === 'object' ? example : {}), [name]: 'Not_An_Id!' });
      requests++;
      if (got !== '400') wrong.push(`${route.method.toUpperCase()} ${path} with body.${name}: ${got}`);
    }
    if (!route.query) continue;
    const querySchema = schemaOf(route.query);
    for (const name of idFields(querySchema, querySchema).filter((one) => one !== 'lastEventId')) {
      const got = await answer(route, `${path}?${name}=Not_An_Id!`);
      requests++;
      if (got !== '400') wrong.push(`${route.method.toUpperCase()} ${path}?${name}: ${got}`);
    }
  }
  expect(requests).toBeGreaterThan(15);
  expect(wrong).toEqual([]);
}, 60_000);
