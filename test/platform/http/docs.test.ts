import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readResponse, startTestServer, type TestServer } from '#test/support/http/framework.ts';
import { PRODUCTION } from '#test/support/production.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

test('GET /openapi.json returns the document, and 304 when its ETag is in If-None-Match', async () => {
  const first = await fetch(`${server.url}/openapi.json`);
  const etag = first.headers.get('ETag') ?? '';
  expect([first.status, first.headers.get('Content-Type')]).toEqual([200, 'application/json; charset=utf-8']);
  expect(((await first.json()) as { openapi: string }).openapi).toBe('3.1.0');
  const again = await fetch(`${server.url}/openapi.json`, { headers: { 'If-None-Match': etag } });
  expect([again.status, await again.text()]).toEqual([304, '']);
});

test('the OpenAPI document is gzipped only when the client accepts gzip', async () => {
  const plain = await fetch(`${server.url}/openapi.json`, { headers: { 'Accept-Encoding': 'identity' } });
  const zipped = await fetch(`${server.url}/openapi.json`, { headers: { 'Accept-Encoding': 'gzip' } });
  expect([plain.headers.get('Content-Encoding'), zipped.headers.get('Content-Encoding')]).toEqual([null, 'gzip']);
  expect(await zipped.text()).toBe(await plain.text());
});

test.each(['/docs', '/docs/'])('%s is a page that loads all of its parts from this service', async (path) => {
  const response = await fetch(`${server.url}${path}`);
  expect([response.status, response.headers.get('Content-Type')]).toEqual([200, 'text/html; charset=utf-8']);
  const policy = response.headers.get('Content-Security-Policy') ?? '';
  expect(policy).not.toMatch(/unsafe|https?:|\*/);
  expect(response.headers.get('X-Frame-Options')).toBe('DENY');
  const html = await response.text();
  expect(html).not.toMatch(/<script>|<style|\son\w+=|\sstyle=|https?:/);
  const parts = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1] ?? '');
  expect(parts.length).toBe(6);
  for (const part of parts) {
    const asset = await fetch(`${server.url}${part}`);
    expect([part, asset.status]).toEqual([part, 200]);
    expect(asset.headers.get('Content-Type')).toMatch(/^(?:text\/(?:css|javascript)|image\/png)/);
    // An unread body would keep its connection open, and the open connection would keep this process alive.
    await asset.body?.cancel();
  }
});

test('in production the documentation has neither the button that signs a new wallet in nor its script', async () => {
  const production = await startTestServer([], {
    env: { ...PRODUCTION, DATABASE_URL: 'postgresql://127.0.0.1:1/none' },
  });
  try {
    expect(await (await fetch(`${production.url}/docs`)).text()).not.toContain('sign-in');
    for (const file of ['sign-in.js', 'sign-in.css']) expect((await fetch(`${production.url}/docs/${file}`)).status).toBe(404);
  } finally {
    await production.close();
  }
});

test('JSON responses do not have the security headers of pages', async () => {
  expect((await fetch(`${server.url}/healthz`)).headers.get('Content-Security-Policy')).toBeNull();
});

test('the documentation accepts only GET and HEAD', async () => {
  const response = await fetch(`${server.url}/docs`, { method: 'POST' });
  expect(response.headers.get('Allow')).toBe('GET, HEAD');
  expect(await readResponse(response)).toEqual({ status: 405, body: { error: 'the method must be GET' } });
  const head = await fetch(`${server.url}/openapi.json`, { method: 'HEAD' });
  expect([head.status, await head.text()]).toEqual([200, '']);
});
