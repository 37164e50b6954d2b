import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { ed25519 } from '@noble/curves/ed25519.js';
import { Me } from '#areas/auth/schemas.ts';
import { Eligibility } from '#areas/wallets/schemas.ts';
import { type Address, accountEntry, type Instruction, instruction, newSigner, type Signer } from '#platform/solana/primitives.ts';
import { createAccount } from '#platform/solana/system-program.ts';
import { cachedHoldings, readRecentBalance } from '#platform/solana/token-gate.ts';
import { associatedTokenAddress, TOKEN_ACCOUNT_BYTES, TOKEN_PROGRAM, transferChecked } from '#platform/solana/tokens.ts';
import { startApi } from '#test/support/api.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { jsonOf } from '#test/support/http/json.ts';
import { startTestChain, type TestChain } from '#test/support/solana/chain.ts';
import { type SignedIn, send, signIn, type TestWallet } from '#test/support/wallet.ts';

const MINIMUM = 1_000n;
/** Decimals of the reward token. */
const DECIMALS = 6;

let chain: TestChain;
let t: TestApp;
beforeAll(async () => {
  chain = await startTestChain();
  t = await startTestApp({ workers: false, env: { ...chain.env, GATE: 'play', GATE_MIN_BALANCE: String(MINIMUM) } });
});
afterAll(async () => {
  await t.close();
  await chain.close();
});
afterEach(() => chain.control.clear());

const later = (seconds: number) => t.clock.set(new Date(t.clock.now().getTime() + seconds * 1_000));
const mint = () => chain.keys.rewardMint.publicKey;
const walletOf = (keys: Signer): TestWallet => ({
  address: keys.publicKey.toBase58(),
  publicKey: keys.publicKey.toBytes(),
  sign: (bytes) => ed25519.sign(bytes, keys.secretKey.subarray(0, 32)),
});
/** Sends a transaction and waits until it is finalized. */
async function land(instructions: Instruction[], signers: [Signer, ...Signer[]]): Promise<void> {
  const signature = await chain.send(instructions, signers);
  await chain.control.advance(10);
  const { value } = await chain.connection.getSignatureStatus(signature);
  expect(value).toMatchObject({ err: null, confirmationStatus: 'finalized' });
}
/** Gives a wallet tokens, and SOL for fees. */
async function give(gift: { reward?: bigint; usdc?: bigint }, wallet = newSigner()): Promise<Signer> {
  await chain.fundWallet({ lamports: 1_000_000_000, ...gift }, wallet);
  await chain.control.advance(10);
  return wallet;
}
/** Signs in a wallet with a token balance. */
async function player(reward: bigint, of: Pick<TestApp, 'url'> = t): Promise<SignedIn & { keys: Signer }> {
  const keys = reward > 0n ? await give({ reward }) : newSigner();
  return { ...(await signIn(of, walletOf(keys))), keys };
}
const holds = (who: SignedIn) => jsonOf(who.fetch('/eligibility'), Eligibility);
const play = (who: SignedIn, headers: Record<string, string> = {}) => who.fetch('/game/gem-drop/play', { method: 'POST', headers });
const answerOf = async (response: Response) => ({ status: response.status, ...((await response.json()) as object) });
const TOO_LITTLE = () => ({
  status: 403,
  error: `the wallet must hold at least ${MINIMUM} base units of the token ${mint().toBase58()} to start a play`,
});
const UNKNOWN = { status: 503, error: 'the RPC node does not answer at the moment, try again' };

test('a wallet with the minimum balance is eligible and can start a play', async () => {
  const rich = await player(MINIMUM);
  const checked = t.clock.now().getTime();
  const view = await holds(rich);
  expect(view).toEqual({ eligible: true, tokenBalance: '1000', minimum: '1000', mint: mint().toBase58(), checkedAt: expect.any(String) });
  expect(Math.abs(Date.parse(view.checkedAt) - checked)).toBeLessThan(5_000);
  expect(await jsonOf(rich.fetch('/me'), Me)).toMatchObject({ wallet: rich.wallet, eligible: true, tokenBalance: '1000' });
  expect((await play(rich)).status).toBe(201);
});

test('a wallet below the minimum balance cannot start a play; other endpoints work', async () => {
  const poor = await player(MINIMUM - 1n);
  expect(await answerOf(await play(poor))).toEqual(TOO_LITTLE());
  expect(await holds(poor)).toMatchObject({ eligible: false, tokenBalance: '999' });
  expect(await jsonOf(poor.fetch('/me'), Me)).toMatchObject({ eligible: false, tokenBalance: '999' });
  expect((await poor.fetch('/game/gem-drop/state', { method: 'PUT', json: { level: 3 } })).status).toBe(200);
  expect((await poor.fetch('/game/gem-drop/record', { json: { run: 1 } })).status).toBe(201);
  expect((await poor.fetch('/game/gem-drop/rank')).status).toBe(200);
});

test('a wallet without a token account has the balance 0', async () => {
  const none = await player(0n);
  expect(await holds(none)).toMatchObject({ eligible: false, tokenBalance: '0' });
  expect((await play(none)).status).toBe(403);
});

test('the session is checked before the balance', async () => {
  expect((await send(t, '/eligibility')).status).toBe(401);
  expect((await send(t, '/game/gem-drop/play', { method: 'POST' })).status).toBe(401);
  const poor = await player(0n);
  expect((await poor.fetch('/game/nowhere/play', { method: 'POST' })).status).toBe(404);
});

/** Creates a second token account of the reward mint and moves tokens there. */
async function moveToSecondAccount(keys: Signer, amount: bigint): Promise<Address> {
  const second = newSigner();
  const instructions = [
    createAccount({
      payer: keys.publicKey,
      address: second.publicKey,
      lamports: await chain.connection.getMinimumBalanceForRentExemption(TOKEN_ACCOUNT_BYTES),
      space: TOKEN_ACCOUNT_BYTES,
      owner: TOKEN_PROGRAM,
    }),
    // The instruction InitializeAccount3.
    instruction(
      TOKEN_PROGRAM,
      [accountEntry(second.publicKey, true), accountEntry(mint(), false)],
      Buffer.concat([Buffer.from([18]), keys.publicKey.toBytes()]),
    ),
    transferChecked({
      from: associatedTokenAddress(keys.publicKey, mint()),
      to: second.publicKey,
      owner: keys.publicKey,
      mint: mint(),
      decimals: DECIMALS,
      amount,
    }),
  ];
  await land(instructions, [keys, second]);
  return second.publicKey;
}

test('the balance includes all token accounts of the mint, also frozen ones, and no other mint', async () => {
  const { keys, ...split } = await player(MINIMUM);
  await give({ usdc: 5_000_000n }, keys);
  const second = await moveToSecondAccount(keys, 400n);
  expect(await holds(split)).toMatchObject({ eligible: true, tokenBalance: '1000' });
  await chain.control.freeze(second.toBase58());
  await later(31);
  expect(await holds(split)).toMatchObject({ eligible: true, tokenBalance: '1000' });
});

test('a raised balance counts when the cached balance is 30 seconds old', async () => {
  const { keys, ...who } = await player(0n);
  expect((await play(who)).status).toBe(403);
  await give({ reward: MINIMUM }, keys);
  await later(28);
  expect((await play(who)).status).toBe(403);
  await later(3);
  expect((await play(who)).status).toBe(201);
  expect(await holds(who)).toMatchObject({ eligible: true, tokenBalance: '1000' });
});

test('a repeated play start with its idempotency key gets the same response, even when the balance is now too low', async () => {
  const { keys, ...who } = await player(MINIMUM);
  const key = { 'Idempotency-Key': 'once-rich' };
  const first = await answerOf(await play(who, key));
  expect(first.status).toBe(201);
  const friend = await give({ reward: 1n });
  const away = transferChecked({
    from: associatedTokenAddress(keys.publicKey, mint()),
    to: associatedTokenAddress(friend.publicKey, mint()),
    owner: keys.publicKey,
    mint: mint(),
    decimals: DECIMALS,
    amount: 1n,
  });
  await land([away], [keys]);
  await later(31);
  expect(await answerOf(await play(who, key))).toEqual(first);
  expect(await answerOf(await play(who, { 'Idempotency-Key': 'once-poor' }))).toEqual(TOO_LITTLE());
});

test('concurrent reads of one balance in several processes send one RPC request', async () => {
  const who = await player(MINIMUM);
  const other = await startApi(t.env, t.clock);
  try {
    const asked = await chain.control.fault({ kind: 'delay', ms: 50, methods: ['getTokenAccountsByOwner'] });
    await Promise.all(Array.from({ length: 10 }, (_none, i) => (i % 2 ? holds(who) : play(who))));
    expect(await asked.hits()).toBe(1);
    const elsewhere = await send(other, '/eligibility', { headers: { Cookie: who.cookie } });
    expect(await elsewhere.json()).toMatchObject({ tokenBalance: '1000' });
    expect(await asked.hits()).toBe(1);
    await later(31);
    await holds(who);
    expect(await asked.hits()).toBe(2);
  } finally {
    await other.close();
  }
});

test.each([
  ['drops connections', { kind: 'cut' }],
  ['returns 500', { kind: 'fail', status: 500 }],
  ['returns 503', { kind: 'fail', status: 503 }],
  ['returns 429', { kind: 'rateLimit', retryAfter: 1 }],
] as const)('when the RPC node %s, a cached balance is used for 10 minutes; then, and without one, the response is 503', async (_fault, fault) => {
  const [known, stranger] = [await player(MINIMUM), await player(MINIMUM)];
  expect(await holds(known)).toMatchObject({ eligible: true });
  const { checkedAt } = await holds(known);
  await chain.control.fault(fault);
  await later(9 * 60);
  expect(await holds(known)).toMatchObject({ eligible: true, tokenBalance: '1000', checkedAt });
  expect((await play(known)).status).toBe(201);
  expect(await answerOf(await stranger.fetch('/eligibility'))).toEqual(UNKNOWN);
  const refused = await play(stranger);
  expect(refused.headers.get('Retry-After')).toMatch(/^[1-9]\d*$/);
  expect(await answerOf(refused)).toEqual(UNKNOWN);
  expect(await jsonOf(stranger.fetch('/me'), Me)).toMatchObject({ wallet: stranger.wallet, eligible: null, tokenBalance: null });
  await later(61);
  expect((await known.fetch('/eligibility')).status).toBe(503);
  expect((await play(known)).status).toBe(503);
  await chain.control.clear();
  await later(2);
  expect((await play(known)).status).toBe(201);
});

test('/me does not wait for a slow RPC node, and returns the balance at a later request', async () => {
  const who = await player(MINIMUM);
  const slow = await chain.control.fault({ kind: 'delay', ms: 1_500, methods: ['getTokenAccountsByOwner'] });
  const started = performance.now();
  expect(await jsonOf(who.fetch('/me'), Me)).toMatchObject({ wallet: who.wallet, eligible: null, tokenBalance: null });
  expect(performance.now() - started).toBeLessThan(1_000);
  // This request waits for the same RPC request.
  expect(await holds(who)).toMatchObject({ eligible: true });
  expect(await jsonOf(who.fetch('/me'), Me)).toMatchObject({ eligible: true, tokenBalance: '1000' });
  expect(await slow.hits()).toBe(1);
});

test('with a cached balance, a play start does not wait for a slow RPC node', async () => {
  const who = await player(MINIMUM);
  expect((await play(who)).status).toBe(201);
  await chain.control.fault({ kind: 'delay', ms: 1_200, methods: ['getTokenAccountsByOwner'] });
  await later(31);
  const started = performance.now();
  expect((await play(who)).status).toBe(201);
  expect(performance.now() - started).toBeLessThan(1_100);
});

test('the cache tells which wallets hold the minimum, for balances of the last 60 seconds, and sends no RPC request', async () => {
  const [rich, poor, unknown] = [await player(MINIMUM), await player(MINIMUM - 1n), await player(MINIMUM)];
  for (const who of [rich, poor]) await holds(who);
  const asked = await chain.control.fault({ kind: 'delay', ms: 1, methods: ['getTokenAccountsByOwner'] });
  const cached = () => cachedHoldings(t.app, [unknown.wallet, poor.wallet, rich.wallet]);
  const seen = await cached();
  expect([seen.get(unknown.wallet), seen.get(poor.wallet)?.holding, seen.get(rich.wallet)?.holding]).toEqual([undefined, false, true]);
  expect(Math.abs((seen.get(rich.wallet)?.at ?? 0) - t.clock.now().getTime())).toBeLessThan(5_000);
  await later(61);
  expect(await cached()).toEqual(new Map());
  expect(await asked.hits()).toBe(0);
});

test('while the RPC node does not answer, the balance of a wallet is known for 60 seconds', async () => {
  const { wallet } = await player(7n);
  const balance = () => readRecentBalance(t.app, wallet, mint().toBase58());
  expect(await balance()).toBe(7n);
  await chain.control.fault({ kind: 'fail', status: 503 });
  await later(50);
  expect(await balance()).toBe(7n);
  await later(11);
  expect(await balance()).toBeNull();
});

test('without a gate every wallet can play without an RPC request, and /eligibility still returns the balance', async () => {
  const open = await startTestApp({ workers: false, env: { ...chain.env, GATE: '', GATE_MIN_BALANCE: '1000' } });
  try {
    const who = await player(1n, open);
    const asked = await chain.control.fault({ kind: 'delay', ms: 1, methods: ['getTokenAccountsByOwner'] });
    expect((await play(who)).status).toBe(201);
    expect(await asked.hits()).toBe(0);
    expect(await holds(who)).toMatchObject({ eligible: false, tokenBalance: '1', minimum: '1000' });
    expect(await jsonOf(who.fetch('/me'), Me)).toMatchObject({ eligible: false, tokenBalance: '1' });
  } finally {
    await open.close();
  }
});

test.each([
  ['without a token, every wallet is eligible', { GATE: '' }, { eligible: true, tokenBalance: null }, 201],
  ['a gate without a token refuses every play', { GATE: 'play' }, { eligible: null, tokenBalance: null }, 503],
])('%s', async (_case, env, view, status) => {
  const bare = await startTestApp({ workers: false, env });
  try {
    const who = await signIn(bare);
    expect(await jsonOf(who.fetch('/me'), Me)).toMatchObject(view);
    expect(await answerOf(await who.fetch('/eligibility'))).toEqual({ status: 503, error: 'REWARD_MINT is not configured' });
    expect((await play(who)).status).toBe(status);
  } finally {
    await bare.close();
  }
});

test('a mint that does not exist on the chain gives 503', async () => {
  const odd = await startTestApp({ workers: false, env: { ...chain.env, REWARD_MINT: newSigner().publicKey.toBase58() } });
  try {
    const who = await signIn(odd);
    expect(await answerOf(await who.fetch('/eligibility'))).toEqual({
      status: 503,
      error: 'the balance of the wallet cannot be read at the moment, try again',
    });
    expect(await jsonOf(who.fetch('/me'), Me)).toMatchObject({ eligible: null, tokenBalance: null });
  } finally {
    await odd.close();
  }
});
