import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from '@jest/globals';
import { Validator } from '@seriousme/openapi-schema-validator';
import { routes as routesByCaller } from '#areas/index.ts';
import { readConfig } from '#config';
import { type OpenApi, openApi, operationId } from '#platform/http/openapi/document.ts';
import { TAGS } from '#platform/http/openapi/tags.ts';
import { type AnyRoute, errorStatusesOf, isStream } from '#platform/http/route.ts';

const routes: readonly AnyRoute[] = Object.values(routesByCaller).flat();
const nameOf = (route: AnyRoute) => `${route.method.toUpperCase()} ${route.path}`;
const successes = (route: AnyRoute) =>
  Object.keys(route.returns)
    .map(Number)
    .filter((status) => status < 400);

let document: OpenApi;
beforeAll(() => {
  document = JSON.parse(JSON.stringify(openApi(readConfig({}), routes)));
});
const operationOf = (route: AnyRoute) => {
  const operation = document.paths?.[route.path]?.[route.method];
  if (!operation) throw new Error(`${nameOf(route)} is not in the document`);
  return operation;
};
/** Returns the names of the routes that match a condition. */
const namesWhere = (holds: (route: AnyRoute) => boolean) => routes.filter(holds).map(nameOf);

/** Returns the example of a JSON body in the document. */
function exampleIn(container: unknown): unknown {
  if (typeof container !== 'object' || container === null || !('content' in container)) return undefined;
  const content = container.content as Record<string, { example?: unknown } | undefined>;
  return content['application/json']?.example;
}

test('the document is valid OpenAPI 3.1', async () => {
  const { valid, errors } = await new Validator().validate(JSON.parse(JSON.stringify(document)));
  expect([valid, errors]).toEqual([true, undefined]);
});

test('every $ref in the document names an existing component', () => {
  const references = new Set([...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/(\w+)\/([^"]+)"/g)].map((m) => `${m[1]}/${m[2]}`));
  const components = new Set(
    Object.entries(document.components ?? {}).flatMap(([kind, all]) => Object.keys(all ?? {}).map((name) => `${kind}/${name}`)),
  );
  expect([...references].filter((reference) => !components.has(reference))).toEqual([]);
});

test('no two routes share a method and path, or an operation id', () => {
  expect(new Set(routes.map(nameOf)).size).toBe(routes.length);
  expect(new Set(routes.map(operationId)).size).toBe(routes.length);
});

/** The group that a route belongs to by its auth. */
function callerOf({ auth }: AnyRoute): keyof typeof routesByCaller {
  if (auth === 'public' || auth === 'optional') return 'public';
  if (auth === 'session' || (typeof auth === 'object' && 'sessionOrAdmin' in auth)) return 'session';
  return typeof auth === 'object' && 'webhook' in auth ? 'webhooks' : 'admin';
}

test('every route is listed under the caller that its auth admits', () => {
  const misplaced = Object.entries(routesByCaller).flatMap(([caller, group]) =>
    group
      .filter((route: AnyRoute) => callerOf(route) !== caller)
      .map((route: AnyRoute) => `${nameOf(route)}: listed under ${caller}, auth ${callerOf(route)}`),
  );
  expect(misplaced).toEqual([]);
});

test('every route has a summary of one line', () => {
  expect(namesWhere((route) => !/^[A-Z][^\n]{2,80}[^.\n]$/.test(route.summary))).toEqual([]);
});

test('every route declares a 2xx status', () => {
  expect(namesWhere((route) => !successes(route).some((status) => status >= 200 && status < 300))).toEqual([]);
});

test('every route has only tags that the document describes', () => {
  const known = new Set(TAGS.map((tag) => tag.name));
  expect(namesWhere((route) => !operationOf(route).tags?.every((tag) => known.has(tag)))).toEqual([]);
});

test('the document declares every status that a route may return', () => {
  const missing = routes.flatMap((route) => {
    const declared = Object.keys(operationOf(route).responses ?? {});
    const expected = [...Object.keys(route.returns), ...errorStatusesOf(route).map(String), ...(route.cache ? ['304'] : [])];
    return expected.filter((status) => !declared.includes(status)).map((status) => `${nameOf(route)} ${status}`);
  });
  expect(missing).toEqual([]);
});

test('the declared path parameters are exactly those in the path', () => {
  const wrong = namesWhere((route) => {
    const inPath = [...route.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
    const declared = (operationOf(route).parameters ?? []).flatMap((parameter) =>
      'in' in parameter && parameter.in === 'path' ? [parameter.name] : [],
    );
    return inPath.sort().join() !== declared.sort().join();
  });
  expect(wrong).toEqual([]);
});

test('every parameter has a description, and every parameter in a path an example that its route accepts', () => {
  const wrong = routes.flatMap((route) =>
    (operationOf(route).parameters ?? []).flatMap((parameter) => {
      if (!('in' in parameter)) return [`${nameOf(route)}: a reference`];
      const isDescribed = /^[\p{Lu}a-z`].{5,}[.).]$/su.test(parameter.description ?? '');
      return isDescribed && (parameter.in !== 'path' || parameter.example !== undefined) ? [] : [`${nameOf(route)}: ${parameter.name}`];
    }),
  );
  expect(wrong).toEqual([]);
  const refused = routes.flatMap((route) => {
    const inPath = (operationOf(route).parameters ?? []).flatMap((one) => ('in' in one && one.in === 'path' ? [[one.name, one.example]] : []));
    return inPath.length === 0 || route.params?.safeParse(Object.fromEntries(inPath)).success ? [] : [nameOf(route)];
  });
  expect(refused).toEqual([]);
});

test('the ids of games, cabinets and quests in the examples of paths are those of the seeds', () => {
  const [arcade, quests] = ['arcade', 'quests'].map((area) => readFileSync(join(import.meta.dirname, `../../src/areas/${area}/seeds.ts`), 'utf8'));
  const seeded: Readonly<Record<string, (id: string) => boolean | undefined>> = {
    game: (id) => arcade?.includes(`'${id}': {`),
    cabinets: (id) => /^cabinet-[1-8]$/.test(id),
    quests: (id) => quests?.includes(`id: '${id}'`),
  };
  const unknown = routes.flatMap((route) => {
    const kind = /^\/(?:admin\/)?(game|cabinets|quests)s?\/\{id\}/.exec(route.path)?.[1];
    const examples = (operationOf(route).parameters ?? []).flatMap((one) => ('in' in one && one.name === 'id' ? [String(one.example)] : []));
    return kind === undefined || examples.every((id) => seeded[kind]?.(id)) ? [] : [`${nameOf(route)}: ${examples}`];
  });
  expect(unknown).toEqual([]);
});

test('every JSON request body has an example that its route accepts', () => {
  const wrong = routes.flatMap((route) => {
    if (!route.body || isStream(route.body)) return [];
    const parsed = route.body.safeParse(exampleIn(operationOf(route).requestBody));
    return parsed.success ? [] : [`${nameOf(route)}: ${parsed.error.issues.map((issue) => `${issue.path.join('.')} ${issue.message}`).join(', ')}`];
  });
  expect(wrong).toEqual([]);
});

test('every JSON response has an example that matches its schema', () => {
  const wrong = routes.flatMap((route) =>
    successes(route).flatMap((status) => {
      const declared = route.returns[status];
      const shape = declared && isStream(declared) ? declared.json : declared;
      if (!shape) return [];
      const parsed = shape.safeParse(exampleIn(operationOf(route).responses?.[status]));
      return parsed.success
        ? []
        : [`${nameOf(route)} ${status}: ${parsed.error.issues.map((issue) => `${issue.path.join('.')} ${issue.message}`).join(', ')}`];
    }),
  );
  expect(wrong).toEqual([]);
});

test('the document declares Location, ETag, Idempotency-Key and Retry-After where they are used', () => {
  const header = (route: AnyRoute, status: number, name: string) => {
    const response = operationOf(route).responses?.[status];
    return response && 'headers' in response && response.headers ? name in response.headers : false;
  };
  expect(namesWhere((route) => 202 in route.returns && !header(route, 202, 'Location'))).toEqual([]);
  expect(namesWhere((route) => route.cache !== undefined && !header(route, 200, 'ETag'))).toEqual([]);
  const sent = (route: AnyRoute, name: string) =>
    (operationOf(route).parameters ?? []).some((parameter) => 'in' in parameter && parameter.name === name);
  expect(namesWhere((route) => route.idempotent === true && !sent(route, 'Idempotency-Key'))).toEqual([]);
  expect(document.components?.responses?.Unavailable).toMatchObject({ headers: { 'Retry-After': {} } });
});
