import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Keypair } from '@solana/web3.js';
import { signed, startTestChain, type TestChain, transfer } from '#test/support/solana/chain.ts';

let chain: TestChain;
beforeAll(async () => {
  chain = await startTestChain({ genesis: false });
});
afterAll(() => chain?.close());

const post = async (body: string) => {
  const response = await fetch(chain.localnet.url, { method: 'POST', body });
  return (await response.json()) as { result?: unknown; error?: { code: number; message: string } };
};
const call = (method: string, params: unknown) => post(JSON.stringify({ jsonrpc: '2.0', id: 7, method, params }));

test('an unknown method returns -32601, also if its name is a property of every JavaScript object', async () => {
  for (const method of ['getEverything', 'toString', '__proto__', 'constructor']) {
    expect(await call(method, [])).toEqual({ jsonrpc: '2.0', error: { code: -32601, message: 'Method not found' }, id: 7 });
  }
});

test('malformed parameters return -32602 and a message that names the problem', async () => {
  const address = Keypair.generate().publicKey.toBase58();
  const malformed: [string, unknown][] = [
    ['getBalance', []],
    ['getBalance', ['not an address']],
    ['getBalance', [`${address}1`]],
    ['getBalance', [address, { commitment: 'certainly' }]],
    ['getBalance', [12]],
    ['getAccountInfo', [address, { encoding: 'xml' }]],
    ['getMultipleAccounts', [Array.from({ length: 101 }, () => address)]],
    ['getSignatureStatuses', [['short']]],
    ['getBlock', [-1]],
    ['getBlock', ['1']],
    ['getProgramAccounts', [address, { filters: [{ memcmp: { offset: -1, bytes: '1' } }] }]],
    ['getProgramAccounts', [address, { filters: [{ memcmp: { offset: 0, bytes: '0OIl' } }] }]],
    ['sendTransaction', ['AAAA', { encoding: 'base64' }]],
    ['sendTransaction', ['!!', { encoding: 'base64' }]],
    ['sendTransaction', ['A'.repeat(1_648), { encoding: 'base64' }]],
    ['sendTransaction', ['0']],
    ['simulateTransaction', [7]],
    ['requestAirdrop', [address, -5]],
    ['getFeeForMessage', ['AAAA']],
    ['getMinimumBalanceForRentExemption', [1e12]],
    ['getSignaturesForAddress', [address, { commitment: 'processed' }]],
  ];
  for (const [method, params] of malformed) {
    expect({ method, params, answer: await call(method, params) }).toMatchObject({
      answer: { id: 7, error: { code: -32602, message: expect.any(String) } },
    });
  }
  expect(await call('getBlocks', [0, 1e15])).toMatchObject({ result: expect.any(Array) });
});

test('malformed transaction bytes are refused, and the process keeps running', async () => {
  const payer = Keypair.generate();
  await chain.connection.requestAirdrop(payer.publicKey, 1_000_000_000);
  const { blockhash } = await chain.connection.getLatestBlockhash();
  const raw = signed([transfer(payer, Keypair.generate().publicKey, 1_000_000)], [payer], blockhash).serialize();
  const send = (bytes: Buffer) => call('sendTransaction', [bytes.toString('base64'), { encoding: 'base64', skipPreflight: true }]);
  for (let length = 0; length < raw.length; length += 3) expect(await send(raw.subarray(0, length))).toMatchObject({ error: { code: -32602 } });
  expect(await send(Buffer.concat([raw, Buffer.from([0])]))).toMatchObject({ error: { code: -32602 } });
  for (let at = 65; at < raw.length; at++) {
    for (const value of [0, 1, 127, 128, 255]) {
      const changed = Buffer.from(raw);
      changed[at] = value;
      const answer = await send(changed);
      expect([-32602, undefined]).toContain(answer.error?.code);
    }
  }
  expect(await send(raw)).toMatchObject({ result: expect.any(String) });
});

test('a body that is not JSON-RPC returns a parse error or an invalid request', async () => {
  expect(await post('{')).toMatchObject({ error: { code: -32700 } });
  expect(await post('[]')).toMatchObject({ error: { code: -32600 } });
  expect(await post('7')).toMatchObject({ error: { code: -32600 } });
  expect(await post('{"id":1,"method":"getSlot"}')).toMatchObject({ error: { code: -32600 } });
  expect(await post('{"jsonrpc":"2.0","id":1,"method":"getSlot","params":{"a":1}}')).toMatchObject({ error: { code: -32600 } });
});

test('a batch returns one response per call', async () => {
  const batch = [
    { jsonrpc: '2.0', id: 1, method: 'getHealth' },
    { jsonrpc: '2.0', id: 'two', method: 'nothing' },
    { jsonrpc: '2.0', id: 3, method: 'getBalance', params: [] },
    4,
  ];
  expect(await post(JSON.stringify(batch))).toMatchObject([
    { id: 1, result: 'ok' },
    { id: 'two', error: { code: -32601 } },
    { id: 3, error: { code: -32602 } },
    { id: null, error: { code: -32600 } },
  ]);
});

test('the server refuses a body that is too large, an HTTP method other than POST and an unknown path, and answers /health', async () => {
  const large = await fetch(chain.localnet.url, { method: 'POST', body: `"${'x'.repeat(8 * 1024 * 1024)}"` });
  expect(large.status).toBe(413);
  expect((await fetch(chain.localnet.url)).status).toBe(405);
  expect((await fetch(`${chain.localnet.url}/third`, { method: 'POST', body: '{}' })).status).toBe(404);
  expect((await fetch(`${chain.localnet.url}/health`)).status).toBe(200);
});

test('the cluster returns its version, identity, genesis hash and epoch', async () => {
  expect(await chain.connection.getVersion()).toMatchObject({ 'solana-core': expect.any(String) });
  expect(await chain.connection.getGenesisHash()).toMatch(/^[1-9A-HJ-NP-Za-km-z]{43,44}$/);
  const info = await chain.connection.getEpochInfo('processed');
  expect(info).toMatchObject({ epoch: 0, slotIndex: info.absoluteSlot, slotsInEpoch: 432_000 });
  expect(info.blockHeight).toBe(info.absoluteSlot - 100);
  expect(await call('getIdentity', [])).toMatchObject({ result: { identity: expect.any(String) } });
  expect(await call('minimumLedgerSlot', [])).toMatchObject({ result: 0 });
});

test('simulateTransaction executes a transaction without landing it', async () => {
  const payer = Keypair.generate();
  await chain.connection.requestAirdrop(payer.publicKey, 1_000_000_000);
  const to = Keypair.generate().publicKey;
  const raw = signed([transfer(payer, to, 1_000_000)], [payer], Keypair.generate().publicKey.toBase58())
    .serialize()
    .toString('base64');
  const simulate = (options: object) => call('simulateTransaction', [raw, { encoding: 'base64', commitment: 'processed', ...options }]);
  expect(await simulate({})).toMatchObject({ result: { value: { err: 'BlockhashNotFound' } } });
  expect(await simulate({ sigVerify: true, replaceRecentBlockhash: true })).toMatchObject({ error: { code: -32602 } });
  const accounts = { addresses: [to.toBase58(), Keypair.generate().publicKey.toBase58()], encoding: 'base64' };
  expect(await simulate({ replaceRecentBlockhash: true, accounts, innerInstructions: true })).toMatchObject({
    result: {
      value: {
        err: null,
        unitsConsumed: 150,
        logs: expect.any(Array),
        accounts: [{ lamports: 1_000_000 }, null],
        innerInstructions: [],
        replacementBlockhash: { blockhash: expect.any(String), lastValidBlockHeight: expect.any(Number) },
      },
    },
  });
  expect(await chain.connection.getBalance(to, 'processed')).toBe(0);
});
