import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import Koa from 'koa';
import { readConfig } from '#config';
import { buildWeb, firstLoadOf, type Manifest } from '#packages/web/build.ts';
import { webHeaders } from '#platform/http/page-headers.ts';
import { readBuiltWeb } from '#platform/http/pages/built-web.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { send } from '#test/support/wallet.ts';

let t: TestApp;
let manifest: Manifest;
beforeAll(async () => {
  ({ manifest } = await buildWeb());
  t = await startTestApp({ workers: false, env: { WEB: 'on' } });
});
afterAll(() => t?.close());

const open = (path: string, headers: Record<string, string> = {}) => send(t, path, { headers: { Accept: 'text/html', ...headers } });
const policyOf = (response: Response) => response.headers.get('content-security-policy') ?? '';

const PAGES = ['/', '/?ref=7K3QXM9A', '/boards', '/boards/block-cascade', '/tasks', '/rewards', '/history', '/games/block-cascade'];

describe('the pages of the arcade', () => {
  test.each(PAGES)('%s is HTML that loads only files of this service', async (path) => {
    const response = await open(path);
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    const text = await response.text();
    const loaded = [...text.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, file = '']) => file);
    expect(loaded).toEqual(expect.arrayContaining([manifest.script, manifest.style, manifest.icon, manifest.font]));
    expect(loaded.filter((file) => !(file in manifest.files))).toEqual([]);
    expect(text).not.toMatch(/<style|<script(?![^>]*src=)| on\w+=|javascript:/);
  });

  test('their policy allows no inline script or style and no other host', async () => {
    const policy = policyOf(await open('/boards'));
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("script-src 'self';style-src 'self'");
    expect(policy).toContain("connect-src 'self';");
    expect(policy).not.toMatch(/unsafe|https:|\*/);
  });

  test('the page of a game may run WebAssembly, and connects to this service only', async () => {
    const policy = policyOf(await open('/games/block-cascade'));
    expect(policy).toContain("script-src 'self' 'wasm-unsafe-eval';");
    expect(policy).toContain("connect-src 'self';");
  });

  test('a check page may connect to the RPC node that the visitor names, and run WebAssembly in a web worker', async () => {
    const koa = new Koa();
    koa.use(async (ctx) => {
      await webHeaders(t.app.config, 'check')(ctx);
      ctx.status = 204;
    });
    const server = koa.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const policy = policyOf(await fetch(`http://127.0.0.1:${port}/`));
    server.close();
    expect(policy).toContain("connect-src 'self' https: http://localhost:* http://127.0.0.1:*;");
    expect(policy).toContain("script-src 'self' 'wasm-unsafe-eval';");
    expect(policy).toContain("worker-src 'self';");
    expect(policy).toContain("default-src 'none';");
  });

  test('a page that did not change is 304', async () => {
    const first = await open('/');
    const etag = first.headers.get('etag') ?? '';
    expect(first.headers.get('cache-control')).toBe('no-cache');
    expect((await open('/', { 'If-None-Match': etag })).status).toBe(304);
  });

  test('HEAD of a page has the headers and no body', async () => {
    const response = await send(t, '/boards', { method: 'HEAD' });
    expect([response.status, await response.text()]).toEqual([200, '']);
  });

  test.each(['/check/round/0199b3a2-7c1e-7d44-9a57-2f1f5e0c9b1a', '/check/score/none', '/games/none', '/check/round/%E0%A4%A'])(
    '%s names nothing that exists: a 404 page for browsers, JSON for other clients',
    async (path) => {
      const page = await open(path);
      expect([page.status, page.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8']);
      const json = await send(t, path);
      expect([json.status, Object.keys(Object(await json.json()))]).toEqual([404, ['error']]);
    },
  );

  test('the paths of the API keep their answers', async () => {
    expect((await open('/quests')).headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect((await send(t, '/boards', { method: 'POST' })).status).toBe(404);
    expect((await open('/boards/')).status).toBe(404);
    expect((await open('/rewards/trigger-epoch')).status).toBe(405);
  });
});

describe('the files of the arcade page', () => {
  test('a file may be stored for ever, and is compressed for clients that accept it', async () => {
    const plain = await send(t, manifest.script, { headers: { 'Accept-Encoding': 'identity' } });
    expect([plain.status, plain.headers.get('content-type')]).toEqual([200, 'text/javascript; charset=utf-8']);
    expect(plain.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(plain.headers.get('vary')).toContain('Accept-Encoding');
    const text = await plain.text();
    for (const encoding of ['br', 'gzip']) {
      const response = await send(t, manifest.script, { headers: { 'Accept-Encoding': encoding } });
      expect(response.headers.get('content-encoding')).toBe(encoding);
      expect(await response.text()).toBe(text);
    }
  });

  test.each(['/assets/', '/assets/none.js', '/assets/manifest.json', '/assets/../manifest.json', '/assets/main.js.gz'])('%s is 404', async (path) => {
    const response = await send(t, path);
    expect([response.status, response.headers.get('cache-control')]).toEqual([404, 'no-store']);
  });

  test('the first load of the home page is below 100 KB with gzip', async () => {
    const files = await Promise.all(
      firstLoadOf(manifest).map(async (path) => {
        const response = await send(t, path, { headers: { 'Accept-Encoding': 'identity' } });
        return gzipSync(Buffer.from(await response.arrayBuffer())).length;
      }),
    );
    const html = gzipSync(await (await open('/')).text());
    expect(gunzipSync(html).length).toBeGreaterThan(1_000);
    expect(files.reduce((sum, bytes) => sum + bytes, html.length)).toBeLessThan(100_000);
  });

  test('the check of a round is no part of the first load', () => {
    const first = new Set(firstLoadOf(manifest));
    const checks = [...(manifest.pages['check/check-page.tsx'] ?? []), ...Object.keys(manifest.files).filter((file) => file.includes('worker'))];
    expect(checks.length).toBeGreaterThan(0);
    expect(manifest.pages['check/check-page.tsx']?.every((file) => first.has(file))).toBe(false);
    expect(checks.filter((file) => file.includes('worker') && first.has(file))).toEqual([]);
  });
});

test('with WEB=off, / is the plain page and the other pages do not exist', async () => {
  const off = await startTestApp({ workers: false });
  try {
    expect(await (await send(off, '/', { headers: { Accept: 'text/html' } })).text()).not.toContain('<script');
    expect((await send(off, '/boards')).status).toBe(404);
    expect((await send(off, manifest.script)).status).toBe(404);
  } finally {
    await off.close();
  }
});

test('a page that is not built is not served', () => {
  expect(readBuiltWeb(join(tmpdir(), 'no-such-folder'))).toBeNull();
});

test('the arcade page is on, and off by default when links for people lead to another front end', () => {
  expect(readConfig({}).web).toBe(true);
  expect(readConfig({ FRONTEND_URL: 'https://play.example' }).web).toBe(false);
  expect(readConfig({ FRONTEND_URL: 'https://play.example', WEB: 'on' }).web).toBe(true);
  expect(readConfig({ WEB: 'off' }).web).toBe(false);
  expect(() => readConfig({ WEB: 'yes' })).toThrow('WEB');
});
