import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { type Connection, Keypair } from '@solana/web3.js';
import bs58 from 'bs58';
import { associatedTokenAddress, transferChecked } from '#platform/solana/tokens.ts';
import { connect, signed, startTestChain, type TestChain, transfer } from '#test/support/solana/chain.ts';

let chain: TestChain;
let payer: Keypair;
beforeAll(async () => {
  chain = await startTestChain();
  payer = await chain.fundWallet({ lamports: 100_000_000_000, reward: 1_000n });
});
afterEach(() => chain.control.clear());
afterAll(() => chain?.close());

const status = async (signature: string) => (await chain.connection.getSignatureStatus(signature, { searchTransactionHistory: true })).value;
const sendOne = (to = Keypair.generate().publicKey) => chain.send([transfer(payer, to, 1_000_000)], [payer]);

/** Returns a signed transaction that is not sent yet, and its signature. */
async function unsent(to = Keypair.generate().publicKey): Promise<{ raw: Buffer; signature: string }> {
  const transaction = signed([transfer(payer, to, 1_000_000)], [payer], (await chain.connection.getLatestBlockhash()).blockhash);
  return { raw: transaction.serialize(), signature: bs58.encode(transaction.signature ?? new Uint8Array()) };
}

test('a dropped transaction is accepted and never lands, and the same bytes land when they are sent again', async () => {
  const { raw, signature } = await unsent();
  const drop = await chain.control.fault({ kind: 'drop', times: 1 });
  expect(await chain.connection.sendRawTransaction(raw)).toBe(signature);
  await chain.control.advance(3);
  expect(await status(signature)).toBeNull();
  expect(await drop.hits()).toBe(1);
  await chain.connection.sendRawTransaction(raw);
  expect(await status(signature)).toMatchObject({ err: null });
});

test('a fault can be limited to an account, a signature, or a probability, whose hits repeat with the same seed', async () => {
  const victim = Keypair.generate().publicKey;
  await chain.control.fault({ kind: 'drop', mentions: victim.toBase58() });
  const [other, dropped] = [await sendOne(), await sendOne(victim)];
  expect([await status(other), await status(dropped)]).toEqual([expect.objectContaining({ err: null }), null]);

  const { raw, signature } = await unsent();
  await chain.control.fault({ kind: 'drop', signature });
  await chain.connection.sendRawTransaction(raw);
  expect(await status(signature)).toBeNull();
  await chain.control.clear();

  const pattern = async () => {
    const fault = await chain.control.fault({ kind: 'drop', probability: 0.5, seed: 7 });
    const landed: boolean[] = [];
    for (let i = 0; i < 12; i++) landed.push((await status(await sendOne())) !== null);
    await fault.clear();
    return landed;
  };
  const first = await pattern();
  expect(new Set(first)).toEqual(new Set([true, false]));
  expect(await pattern()).toEqual(first);
});

test('loseReply lets the transaction land and closes the connection or returns 5xx', async () => {
  for (const how of [{}, { status: 502 }]) {
    const { raw, signature } = await unsent();
    await chain.control.fault({ kind: 'loseReply', times: 1, ...how });
    await expect(chain.connection.sendRawTransaction(raw)).rejects.toThrow('status' in how ? '502' : 'fetch failed');
    expect(await status(signature)).toMatchObject({ err: null });
  }
});

test('late lets a transaction land some slots later, or in the last block for which its blockhash is valid', async () => {
  await chain.control.pause();
  await chain.control.fault({ kind: 'late', slots: 5, times: 1 });
  const { slot } = await chain.control.status();
  const late = await sendOne();
  await chain.control.advance(4);
  expect(await status(late)).toBeNull();
  await chain.control.advance(20);
  expect(await status(late)).toMatchObject({ slot: slot + 5, err: null, confirmationStatus: 'finalized' });

  await chain.control.fault({ kind: 'late', last: true, times: 1 });
  const { blockhash, lastValidBlockHeight } = await chain.connection.getLatestBlockhash();
  const last = await chain.send([transfer(payer, Keypair.generate().publicKey, 1_000_000)], [payer], blockhash);
  await chain.control.advance(lastValidBlockHeight - 1 - (await chain.control.status()).blockHeight);
  expect(await status(last)).toBeNull();
  await chain.control.advance(2);
  expect(await status(last)).toMatchObject({ err: null });
});

test('a fork removes a confirmed transaction with its status and its effects, and the other transactions land again', async () => {
  await chain.control.pause();
  const [lost, kept] = [Keypair.generate().publicKey, Keypair.generate().publicKey];
  const { blockhash } = await chain.connection.getLatestBlockhash();
  const dropped = await chain.send([transfer(payer, lost, 1_000_000)], [payer], blockhash);
  const { slot } = await chain.control.status();
  await chain.control.advance(2);
  const other = await chain.send([transfer(payer, kept, 2_000_000)], [payer], blockhash);
  const hashOfBlock = async () => (await chain.connection.getBlock(slot, { commitment: 'confirmed', maxSupportedTransactionVersion: 1 }))?.blockhash;
  const before = await hashOfBlock();
  expect(await status(dropped)).toMatchObject({ confirmationStatus: 'confirmed' });

  await chain.control.fork(dropped);
  expect(await status(dropped)).toBeNull();
  expect(await chain.connection.getBalance(lost, 'processed')).toBe(0);
  expect(await status(other)).toMatchObject({ err: null });
  expect(await chain.connection.getBalance(kept, 'processed')).toBe(2_000_000);
  expect((await chain.connection.getSignaturesForAddress(lost, {}, 'confirmed')).length).toBe(0);
  expect(await hashOfBlock()).not.toBe(before);
  expect((await chain.connection.isBlockhashValid(before ?? '', { commitment: 'processed' })).value).toBe(false);

  await chain.control.advance(10);
  await expect(chain.control.fork(other)).rejects.toThrow('whose block is not finalized');
});

test('a fork can be scheduled before the transaction is sent', async () => {
  await chain.control.pause();
  await chain.control.fault({ kind: 'fork', slots: 3, times: 1 });
  const to = Keypair.generate().publicKey;
  const signature = await sendOne(to);
  await chain.control.advance(2);
  expect(await status(signature)).toMatchObject({ confirmationStatus: 'confirmed' });
  await chain.control.advance(30);
  expect(await status(signature)).toBeNull();
  expect(await chain.connection.getBalance(to, 'finalized')).toBe(0);
});

test('delay, rateLimit, fail and cut delay responses, return 429 or 5xx, or close the connection', async () => {
  await chain.control.fault({ kind: 'delay', ms: 60, methods: ['getSlot'], times: 1 });
  const began = performance.now();
  await chain.connection.getSlot();
  expect(performance.now() - began).toBeGreaterThanOrEqual(55);

  await chain.control.fault({ kind: 'rateLimit', retryAfter: 2, times: 1 });
  const limited = await fetch(chain.localnet.url, { method: 'POST', body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getSlot' }) });
  expect([limited.status, limited.headers.get('retry-after')]).toEqual([429, '2']);

  await chain.control.fault({ kind: 'fail', status: 500, methods: ['getSlot'] });
  await expect(chain.connection.getSlot()).rejects.toThrow('500');
  expect(await chain.connection.getBlockHeight()).toBeGreaterThan(0);
  await chain.control.clear();

  const { raw, signature } = await unsent();
  await chain.control.fault({ kind: 'cut', methods: ['sendTransaction'], times: 1 });
  await expect(chain.connection.sendRawTransaction(raw)).rejects.toThrow('fetch failed');
  expect(await status(signature)).toBeNull();
});

test('a fault of one node does not affect the other node', async () => {
  const second = connect(chain.env.SOLANA_RPC_SECOND_URL ?? '');
  const signature = await sendOne();
  const seen = async (connection: Connection) =>
    (await connection.getSignatureStatus(signature, { searchTransactionHistory: true })).value?.confirmationStatus ?? null;
  await chain.control.fault({ kind: 'fail', node: 'first' });
  await expect(chain.connection.getSlot()).rejects.toThrow('503');
  expect(await second.getSlot()).toBeGreaterThan(0);
  await chain.control.clear();

  await chain.control.pause();
  await chain.control.advance(10);
  await chain.control.lag(30);
  const { slot } = await chain.control.status();
  expect([await chain.connection.getSlot('processed'), await second.getSlot('processed')]).toEqual([slot - 30, slot]);
  expect([await seen(chain.connection), await seen(second)]).toEqual([null, 'finalized']);
  expect(await chain.connection.getBlockHeight('processed')).toBe((await second.getBlockHeight('processed')) - 30);
  await expect(chain.connection.getSlot({ commitment: 'processed', minContextSlot: slot })).rejects.toThrow('Minimum context slot');
  await chain.control.lag(0);

  await chain.control.purge(undefined, 'second');
  expect([await seen(chain.connection), await seen(second)]).toEqual(['finalized', null]);
  expect(await second.getFirstAvailableBlock()).toBe(slot + 1);
  expect(await second.getTransaction(signature, { maxSupportedTransactionVersion: 1 })).toBeNull();
  expect(await second.getSignaturesForAddress(payer.publicKey)).toEqual([]);
  await expect(second.getBlock(slot - 5, { commitment: 'confirmed', maxSupportedTransactionVersion: 1 })).rejects.toThrow('cleaned up');
  expect(await chain.connection.getFirstAvailableBlock()).toBe(0);
});

test('a lagging node returns the balances of its own slot', async () => {
  await chain.control.pause();
  const to = Keypair.generate().publicKey;
  await sendOne(to);
  await chain.control.advance(12);
  expect(await chain.connection.getBalance(to, 'finalized')).toBe(1_000_000);
  await chain.control.lag(6);
  expect(await chain.connection.getBalance(to, 'confirmed')).toBe(1_000_000);
  expect(await chain.connection.getBalance(to, 'finalized')).toBe(0);
});

test('the control endpoint creates, freezes and closes accounts', async () => {
  const address = Keypair.generate().publicKey;
  const owner = Keypair.generate().publicKey;
  const account = { lamports: 1_000_000, owner: owner.toBase58(), data: Buffer.from('name').toString('base64') };
  await chain.control.setAccounts([{ address: address.toBase58(), account }]);
  expect(await chain.connection.getAccountInfo(address, 'processed')).toMatchObject({ lamports: 1_000_000, owner, data: Buffer.from('name') });
  await chain.control.setAccounts([{ address: address.toBase58() }]);
  expect(await chain.connection.getAccountInfo(address, 'processed')).toBeNull();

  const mint = chain.keys.rewardMint.publicKey;
  const from = associatedTokenAddress(payer.publicKey, mint);
  const to = associatedTokenAddress(chain.keys.treasury.publicKey, mint);
  const pay = () => chain.send([transferChecked({ from, to, owner: payer.publicKey, mint, decimals: 6, amount: 1n })], [payer]);
  await chain.control.freeze(from.toBase58());
  expect(await status(await pay())).toMatchObject({ err: { InstructionError: [0, { Custom: 17 }] } });
  await chain.control.freeze(from.toBase58(), false);
  await chain.control.advance(1);
  expect(await status(await pay())).toMatchObject({ err: null });
});

test('a malformed command is refused with an error that names the problem', async () => {
  await expect(chain.control.fork('nothing')).rejects.toThrow('signature must be that of a landed transaction');
  await expect(chain.control.freeze(payer.publicKey.toBase58())).rejects.toThrow('tokenAccount must be an existing token account');
  const answer = await fetch(`${chain.localnet.url}/control/fault`, { method: 'POST', body: JSON.stringify({ kind: 'explode' }) });
  expect(answer.status).toBe(400);
  expect(await answer.text()).toContain('kind');
  expect((await fetch(`${chain.localnet.url}/control/toString`, { method: 'POST', body: '{}' })).status).toBe(400);
});
