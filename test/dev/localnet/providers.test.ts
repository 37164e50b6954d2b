import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { Keypair } from '@solana/web3.js';
import { connect, startTestChain, type TestChain, transfer } from '#test/support/solana/chain.ts';

let chain: TestChain;
let payer: Keypair;
beforeAll(async () => {
  chain = await startTestChain();
  payer = await chain.fundWallet({ lamports: 100_000_000_000 });
});
afterEach(() => chain.control.clear());
afterAll(() => chain?.close());

const sendOne = () => chain.send([transfer(payer, Keypair.generate().publicKey, 1_000_000)], [payer]);
const second = () => connect(chain.localnet.secondUrl);
const statusAt = async (connection: TestChain['connection'], signature: string) =>
  (await connection.getSignatureStatus(signature, { searchTransactionHistory: true })).value;

test('the second node has a port of its own, which serves only JSON-RPC', async () => {
  expect(new URL(chain.localnet.secondUrl).port).not.toBe(new URL(chain.localnet.url).port);
  expect(chain.env.SOLANA_RPC_SECOND_URL).toBe(chain.localnet.secondUrl);
  const signature = await sendOne();
  expect(await statusAt(second(), signature)).toMatchObject({ err: null });
  const command = await fetch(`${chain.localnet.secondUrl}/control/pause`, { method: 'POST', body: '{}' });
  expect(await command.json()).toMatchObject({ error: { code: -32600 } });
  expect(await chain.control.status()).toMatchObject({ paused: false });
});

test('a node can deny a transaction that landed, or state another result, while the other node states the truth', async () => {
  const [denied, other] = [await sendOne(), await sendOne()];
  await chain.control.finalized((await chain.control.status()).slot);
  await chain.control.claim('denied', denied);
  expect([await statusAt(second(), denied), await second().getTransaction(denied, { maxSupportedTransactionVersion: 1 })]).toEqual([null, null]);
  expect((await second().getSignaturesForAddress(payer.publicKey)).map(({ signature }) => signature)).not.toContain(denied);
  expect(await statusAt(chain.connection, denied)).toMatchObject({ err: null });
  expect(await statusAt(second(), other)).toMatchObject({ err: null });

  await chain.control.claim('failed');
  expect(await statusAt(second(), other)).toMatchObject({ err: { InstructionError: [0, { Custom: 1 }] }, confirmationStatus: 'finalized' });
  expect(await statusAt(second(), denied)).toBeNull();
  await chain.control.claim('truth', denied);
  await chain.control.claim('truth');
  expect([await statusAt(second(), denied), await statusAt(second(), other)]).toMatchObject([{ err: null }, { err: null }]);
});

test('a node grants a number of credits per second, and a method may cost several credits', async () => {
  await chain.control.limit(10, { credits: { getBlockHeight: 4 } });
  const ask = async (method: string, url = chain.localnet.url) =>
    (await fetch(url, { method: 'POST', body: JSON.stringify({ jsonrpc: '2.0', id: 1, method }) })).status;
  expect([await ask('getBlockHeight'), await ask('getBlockHeight'), await ask('getBlockHeight')]).toEqual([200, 200, 429]);
  expect([await ask('getSlot'), await ask('getSlot'), await ask('getSlot')]).toEqual([200, 200, 429]);
  expect(await ask('getBlockHeight', chain.localnet.secondUrl)).toBe(200);
  expect((await chain.control.status()).refused).toEqual({ first: 2, second: 0 });
  await new Promise((resolve) => setTimeout(resolve, 1_010));
  expect(await ask('getSlot')).toBe(200);
});
