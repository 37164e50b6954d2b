import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { routes } from '#areas/index.ts';
import { readConfig } from '#config';
import { openApi } from '#platform/http/openapi/document.ts';
import type { AnyRoute } from '#platform/http/route.ts';
import { startTestApp } from '#test/support/app.ts';

const all: readonly AnyRoute[] = Object.values(routes).flat();
const nameOf = ({ method, path }: Pick<AnyRoute, 'method' | 'path'>) => `${method.toUpperCase()} ${path}`;
/** The endpoints that the specification of the API calls legacy. */
const LEGACY = ['GET /round/{id}', 'POST /round', 'POST /round/{id}/finalize', 'POST /round/{id}/ticket'];

test('exactly the legacy endpoints of the specification are deprecated, in the OpenAPI document and in docs/api-versions.md too', () => {
  expect(
    all
      .filter(({ deprecatedSince }) => deprecatedSince !== undefined)
      .map(nameOf)
      .sort(),
  ).toEqual(LEGACY);
  const paths = openApi(readConfig({}), all).paths ?? {};
  const marked = Object.entries(paths).flatMap(([path, item]) =>
    (['get', 'post', 'put', 'patch', 'delete'] as const).filter((method) => item[method]?.deprecated).map((method) => nameOf({ method, path })),
  );
  expect(marked.sort()).toEqual(LEGACY);
  const page = readFileSync(join(import.meta.dirname, '../../docs/api-versions.md'), 'utf8');
  expect(LEGACY.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});

test('every response of a deprecated endpoint, errors included, says since when it is deprecated; other responses do not', async () => {
  const t = await startTestApp({ workers: false });
  try {
    const headersOf = async (path: string, method = 'GET') => {
      const { headers } = await fetch(`${t.url}${path}`, { method });
      return [headers.get('deprecation'), headers.get('link'), headers.get('sunset')];
    };
    const since = [`@${Date.UTC(2026, 10, 23) / 1_000}`, '</docs>; rel="deprecation"; type="text/html"', null];
    const id = '0199b3a2-7c1e-7d44-9a57-2f1f5e0c9b1a';
    expect(await headersOf(`/round/${id}`)).toEqual(since);
    expect(await headersOf('/round', 'POST')).toEqual(since);
    expect(await headersOf('/rounds')).toEqual([null, null, null]);
    expect(await headersOf(`/chat/round/${id}/winners`)).toEqual([null, null, null]);
  } finally {
    await t.close();
  }
});
