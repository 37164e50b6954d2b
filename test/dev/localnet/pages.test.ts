import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Localnet, startLocalnet } from '#dev/localnet/localnet.ts';

let localnet: Localnet;
beforeAll(async () => {
  localnet = await startLocalnet({ slotMs: 10 });
});
afterAll(() => localnet?.close());

const origin = { Origin: 'http://page.test' };
const health = { method: 'POST', headers: { ...origin, 'content-type': 'application/json' }, body: '{"jsonrpc":"2.0","id":1,"method":"getHealth"}' };

test('web pages of every origin may read the answers of the RPC node and of the beacon', async () => {
  const preflight = await fetch(localnet.url, { method: 'OPTIONS', headers: { ...origin, 'Access-Control-Request-Headers': 'content-type' } });
  expect([preflight.status, preflight.headers.get('access-control-allow-headers')]).toEqual([200, 'content-type']);
  const answers = await Promise.all([fetch(localnet.url, health), fetch(`${localnet.url}/beacon/chains`, { headers: origin })]);
  for (const answer of [preflight, ...answers]) expect(answer.headers.get('access-control-allow-origin')).toBe('*');
  expect(await answers[0]?.json()).toMatchObject({ result: 'ok' });
});

test('web pages may not read the answers of the control endpoint and of the faucet', async () => {
  for (const path of ['/control/nonsense', '/faucet']) {
    const answer = await fetch(localnet.url + path, { method: 'POST', headers: origin, body: '{}' });
    expect(answer.headers.get('access-control-allow-origin')).toBeNull();
    expect((await fetch(localnet.url + path, { method: 'OPTIONS', headers: origin })).status).toBe(405);
  }
});
