import { beforeAll, expect, test } from '@jest/globals';
import { Validator } from '@seriousme/openapi-schema-validator';
import { routes as byTier } from '#areas/index.ts';
import { readConfig } from '#config';
import { type OpenApi, openApi, operationId } from '#platform/http/openapi/document.ts';
import { TAGS } from '#platform/http/openapi/tags.ts';
import { type AnyRoute, isStream, refusalsOf } from '#platform/http/route.ts';

const routes: readonly AnyRoute[] = Object.values(byTier).flat();
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
/** The names of the routes of which something holds. */
const those = (holds: (route: AnyRoute) => boolean) => routes.filter(holds).map(nameOf);

/** The example of a JSON body in the document. */
function exampleIn(container: unknown): unknown {
  if (typeof container !== 'object' || container === null || !('content' in container)) return undefined;
  const content = container.content as Record<string, { example?: unknown } | undefined>;
  return content['application/json']?.example;
}

test('the document is valid OpenAPI 3.1', async () => {
  const { valid, errors } = await new Validator().validate(JSON.parse(JSON.stringify(document)));
  expect([valid, errors]).toEqual([true, undefined]);
});

test('every reference in it leads somewhere', () => {
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

test('every route says what it is for, in one line', () => {
  expect(those((route) => !/^[A-Z][^\n]{2,80}[^.\n]$/.test(route.summary))).toEqual([]);
});

test('every route can succeed', () => {
  expect(those((route) => !successes(route).some((status) => status >= 200 && status < 300))).toEqual([]);
});

test('every route has a tag that the document explains', () => {
  const known = new Set(TAGS.map((tag) => tag.name));
  expect(those((route) => !operationOf(route).tags?.every((tag) => known.has(tag)))).toEqual([]);
});

test('every status that a route may answer with is in the document', () => {
  const missing = routes.flatMap((route) => {
    const declared = Object.keys(operationOf(route).responses ?? {});
    const expected = [...Object.keys(route.returns), ...refusalsOf(route).map(String), ...(route.cache ? ['304'] : [])];
    return expected.filter((status) => !declared.includes(status)).map((status) => `${nameOf(route)} ${status}`);
  });
  expect(missing).toEqual([]);
});

test('every parameter of a path is declared, and none that is not in it', () => {
  const wrong = those((route) => {
    const inPath = [...route.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
    const declared = (operationOf(route).parameters ?? []).flatMap((parameter) =>
      'in' in parameter && parameter.in === 'path' ? [parameter.name] : [],
    );
    return inPath.sort().join() !== declared.sort().join();
  });
  expect(wrong).toEqual([]);
});

test('every JSON body has an example, and its route would take it', () => {
  const wrong = routes.flatMap((route) => {
    if (!route.body || isStream(route.body)) return [];
    const parsed = route.body.safeParse(exampleIn(operationOf(route).requestBody));
    return parsed.success ? [] : [`${nameOf(route)}: ${parsed.error.issues.map((issue) => `${issue.path.join('.')} ${issue.message}`).join(', ')}`];
  });
  expect(wrong).toEqual([]);
});

test('every JSON answer has an example, and is of its shape', () => {
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

test('headers are declared where they come', () => {
  const header = (route: AnyRoute, status: number, name: string) => {
    const response = operationOf(route).responses?.[status];
    return response && 'headers' in response && response.headers ? name in response.headers : false;
  };
  expect(those((route) => 202 in route.returns && !header(route, 202, 'Location'))).toEqual([]);
  expect(those((route) => route.cache !== undefined && !header(route, 200, 'ETag'))).toEqual([]);
  const sent = (route: AnyRoute, name: string) =>
    (operationOf(route).parameters ?? []).some((parameter) => 'in' in parameter && parameter.name === name);
  expect(those((route) => route.idempotent === true && !sent(route, 'Idempotency-Key'))).toEqual([]);
  expect(document.components?.responses?.Unavailable).toMatchObject({ headers: { 'Retry-After': {} } });
});
