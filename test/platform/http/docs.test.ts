import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { answerOf, type Kit, startKit } from '#test/support/http/framework.ts';

let kit: Kit;
beforeAll(async () => {
  kit = await startKit();
});
afterAll(() => kit.close());

test('the document is served once made, and 304 for who has it', async () => {
  const first = await fetch(`${kit.url}/openapi.json`);
  const etag = first.headers.get('ETag') ?? '';
  expect([first.status, first.headers.get('Content-Type')]).toEqual([200, 'application/json; charset=utf-8']);
  expect(((await first.json()) as { openapi: string }).openapi).toBe('3.1.0');
  const again = await fetch(`${kit.url}/openapi.json`, { headers: { 'If-None-Match': etag } });
  expect([again.status, await again.text()]).toEqual([304, '']);
});

test('it comes compressed for who takes that, and plain for who does not', async () => {
  const plain = await fetch(`${kit.url}/openapi.json`, { headers: { 'Accept-Encoding': 'identity' } });
  const zipped = await fetch(`${kit.url}/openapi.json`, { headers: { 'Accept-Encoding': 'gzip' } });
  expect([plain.headers.get('Content-Encoding'), zipped.headers.get('Content-Encoding')]).toEqual([null, 'gzip']);
  expect(await zipped.text()).toBe(await plain.text());
});

test.each(['/docs', '/docs/'])('%s is a page whose every part comes from here', async (path) => {
  const response = await fetch(`${kit.url}${path}`);
  expect([response.status, response.headers.get('Content-Type')]).toEqual([200, 'text/html; charset=utf-8']);
  const policy = response.headers.get('Content-Security-Policy') ?? '';
  expect(policy).not.toMatch(/unsafe|https?:|\*/);
  expect(response.headers.get('X-Frame-Options')).toBe('DENY');
  const html = await response.text();
  expect(html).not.toMatch(/<script>|<style|\son\w+=|\sstyle=|https?:/);
  const parts = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1] ?? '');
  expect(parts.length).toBe(4);
  for (const part of parts) {
    const asset = await fetch(`${kit.url}${part}`);
    expect([part, asset.status]).toEqual([part, 200]);
    expect(asset.headers.get('Content-Type')).toMatch(/^(?:text\/(?:css|javascript)|image\/png)/);
    // Unread, it would hold its connection, and that this process.
    await asset.body?.cancel();
  }
});

test('JSON answers carry no headers of pages', async () => {
  expect((await fetch(`${kit.url}/healthz`)).headers.get('Content-Security-Policy')).toBeNull();
});

test('it is only read', async () => {
  const response = await fetch(`${kit.url}/docs`, { method: 'POST' });
  expect(response.headers.get('Allow')).toBe('GET, HEAD');
  expect(await answerOf(response)).toEqual({ status: 405, body: { error: 'the method must be GET' } });
  const head = await fetch(`${kit.url}/openapi.json`, { method: 'HEAD' });
  expect([head.status, await head.text()]).toEqual([200, '']);
});
