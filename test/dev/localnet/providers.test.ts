import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { Keypair, type PublicKey, SystemProgram } from '@solana/web3.js';
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

const lamportsAt = async (connection: TestChain['connection'], address: PublicKey) => await connection.getBalance(address, 'finalized');
const finality = async () => await chain.control.finalized((await chain.control.status()).slot);

test('with a ledger of its own, the second node finalizes other transactions than the first, until it rejoins', async () => {
  const [both, onlyFirst, onlySecond] = [Keypair.generate().publicKey, Keypair.generate().publicKey, Keypair.generate().publicKey];
  const before = await sendOne();
  await chain.control.split('apart');
  await chain.control.fault({ kind: 'drop', node: 'second', mentions: onlyFirst.toBase58() });
  await chain.control.fault({ kind: 'drop', node: 'first', mentions: onlySecond.toBase58() });
  const sent: string[] = [];
  for (const to of [both, onlyFirst, onlySecond]) sent.push(await chain.send([transfer(payer, to, 1_000_000)], [payer]));
  await finality();
  const finalStates = async (connection: TestChain['connection']) =>
    await Promise.all([before, ...sent].map(async (signature) => (await statusAt(connection, signature))?.confirmationStatus ?? null));
  expect(await finalStates(chain.connection)).toEqual(['finalized', 'finalized', 'finalized', null]);
  expect(await finalStates(second())).toEqual(['finalized', 'finalized', null, 'finalized']);
  const balances = async (connection: TestChain['connection']) =>
    await Promise.all([both, onlyFirst, onlySecond].map(async (address) => await lamportsAt(connection, address)));
  expect([await balances(chain.connection), await balances(second())]).toEqual([
    [1_000_000, 1_000_000, 0],
    [1_000_000, 0, 1_000_000],
  ]);
  const listed = async (connection: TestChain['connection'], address: PublicKey) => (await connection.getSignaturesForAddress(address)).length;
  expect([await listed(chain.connection, onlyFirst), await listed(second(), onlyFirst)]).toEqual([1, 0]);

  await chain.control.rejoin();
  expect([await finalStates(second()), await balances(second())]).toEqual([await finalStates(chain.connection), [1_000_000, 1_000_000, 0]]);
});

test('a transaction has another result on a node whose accounts differ', async () => {
  const poor = await chain.fundWallet({ lamports: 10_000_000 });
  await finality();
  await chain.control.split('apart');
  await chain.control.setAccounts(
    [{ address: poor.publicKey.toBase58(), account: { lamports: 5_000_000, owner: SystemProgram.programId.toBase58() } }],
    'second',
  );
  const signature = await chain.send([transfer(poor, payer.publicKey, 8_000_000)], [poor]);
  await finality();
  expect(await statusAt(chain.connection, signature)).toMatchObject({ err: null, confirmationStatus: 'finalized' });
  expect(await statusAt(second(), signature)).toMatchObject({ err: { InstructionError: [0, expect.anything()] }, confirmationStatus: 'finalized' });
});

test('on another fork, the second node has other blocks, and a transaction with a blockhash of the first node does not land there', async () => {
  await chain.control.split('forked');
  await chain.control.advance(20);
  await finality();
  const slot = await chain.connection.getSlot('finalized');
  const hashOf = async (connection: TestChain['connection']) => (await connection.getBlock(slot, { maxSupportedTransactionVersion: 0 }))?.blockhash;
  expect(await hashOf(second())).not.toBe(await hashOf(chain.connection));
  const signature = await sendOne();
  await finality();
  expect(await statusAt(chain.connection, signature)).toMatchObject({ err: null });
  expect(await statusAt(second(), signature)).toBeNull();
});

test('a second node that has stopped shows its last block until it rejoins', async () => {
  await chain.control.split('stopped');
  const at = await second().getSlot('processed');
  const signature = await sendOne();
  await chain.control.advance(600);
  expect([await second().getSlot('processed'), await statusAt(second(), signature)]).toEqual([at, null]);
  expect(await lamportsAt(second(), payer.publicKey)).toBeGreaterThan(0);
  await expect(chain.control.split('apart')).rejects.toThrow('the second node is separated already');
  await chain.control.rejoin();
  expect(await statusAt(second(), signature)).toMatchObject({ err: null, confirmationStatus: 'finalized' });
});
