import { request } from 'node:http';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readConfig } from '#config';
import { ADMIN_TOKEN, startTestApp, type TestApp } from '#test/support/app.ts';
import { registerGame } from '#test/support/areas/arcade.ts';
import { GAME, uploadClip } from '#test/support/areas/clips.ts';
import { signIn } from '#test/support/wallet.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false, env: { MEDIA_URL: 'https://media.coinop.test' } });
  await registerGame(t.url, ADMIN_TOKEN, GAME);
});
afterAll(() => t.close());

/** Sends a GET request with a Host header, which `fetch` does not allow to set. */
const getFrom = (host: string, path: string) =>
  new Promise<{ status: number | undefined; location: string | undefined; type: string | undefined }>((resolve, reject) => {
    const { port } = new URL(t.url);
    request({ port, path, headers: { Host: host } }, (response) => {
      response.resume();
      const { location, 'content-type': type } = response.headers;
      resolve({ status: response.statusCode, location, type });
    })
      .on('error', reject)
      .end();
  });

test('with MEDIA_URL, links lead to its host, other hosts redirect there, and it serves nothing else', async () => {
  const { id, url } = await uploadClip(await signIn(t));
  expect(url).toBe(`https://media.coinop.test/clips/${id}/media`);
  expect(await getFrom('coinop.test', `/clips/${id}/media`)).toMatchObject({ status: 307, location: url });
  expect(await getFrom('media.coinop.test', `/clips/${id}/media`)).toMatchObject({ status: 200, type: 'video/mp4' });
  for (const path of ['/', '/me', '/docs', '/clips', `/clips/${id}`, '/admin/queues']) {
    expect([path, (await getFrom('media.coinop.test', path)).status]).toEqual([path, 404]);
  }
});

test.each([
  ['https://media.example/files', /without a path/],
  ['https://arcade.example', /another host than PUBLIC_URL/],
])('the configuration refuses %s as MEDIA_URL', (MEDIA_URL, error) => {
  expect(() => readConfig({ PUBLIC_URL: 'https://arcade.example', MEDIA_URL })).toThrow(error);
});
