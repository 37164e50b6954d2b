import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { getChain, postAcceptKeys } from '#areas/rewards/restores/routes.ts';
import { reconcilePayouts } from '#jobs/payouts.ts';
import { laneAddress, laneSeed } from '#platform/solana/nonce-lanes.ts';
import { newSigner, parseAddress, type Signer } from '#platform/solana/primitives.ts';
import { advanceNonceInstruction, NONCE_BYTES, openNonceAccount, transferLamports } from '#platform/solana/system-program.ts';
import { startWorker } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { adminOf } from '#test/support/http/client.ts';
import { type RewardsTest, startRewardsTest } from '#test/support/solana/claims.ts';

// Walks the drill "Keys, mints or the authority changed too" of docs/operations.md.
let t: RewardsTest;
let worker: Awaited<ReturnType<typeof startWorker>> | undefined;
beforeAll(async () => {
  t = await startRewardsTest({ workers: false });
});
beforeEach(async () => {
  await start();
  await untilChain({ doubt: null, stop: null, changed: [] });
  await stop();
});
afterEach(stop);
afterAll(() => t.close());

async function start(env: Record<string, string> = {}): Promise<void> {
  worker = await startWorker({ ...t.env, ...env }, t.clock);
}
async function stop(): Promise<void> {
  await worker?.close();
  worker = undefined;
}
const admin = () => adminOf(t);
/** Waits until the reconciliation, which runs once a minute in production, has a result. */
const untilChain = (expected: { stop?: unknown; doubt?: unknown; changed?: unknown; keys?: unknown }) =>
  retryUntilPass(async () => {
    await t.app.tx(async (tx) => tx.enqueue(reconcilePayouts, {}));
    expect((await admin().ok(getChain)).body).toMatchObject(expected);
  }, 20_000);
const textOf = ({ secretKey }: Signer) => JSON.stringify([...secretKey]);

const keysNow = async () => (await admin().ok(getChain)).body.keys;
/** Gives the record other keys, so that the next test begins with those of the cluster. */
const recordKeys = (keys: unknown) =>
  sql(t.app, 'update chain_record set keys = $1::jsonb, stop = null, other_keys = null, doubt = null', [JSON.stringify(keys)]);

async function newFeePayer(): Promise<Signer> {
  const signer = newSigner();
  await t.chain.fundWallet({ lamports: 10_000_000_000 }, signer);
  return signer;
}

/** Opens the nonce account of a lane, as the service does with a new fee payer. */
async function openLaneOf(feePayer: Signer, lane: number): Promise<string> {
  const address = laneAddress(feePayer.publicKey, lane);
  const rent = await t.chain.connection.getMinimumBalanceForRentExemption(NONCE_BYTES);
  const open = openNonceAccount({ address, authority: feePayer.publicKey, seed: laneSeed(lane) });
  await t.chain.send([transferLamports(feePayer.publicKey, address, rent), ...open], [feePayer]);
  await t.chain.control.finalized((await t.chain.control.status()).slot + 1);
  return address.toBase58();
}

/** Advances the nonce of a lane, as a payment does. */
async function useLane(feePayer: Signer, lane: string): Promise<void> {
  const { value } = await t.app.chain.node.nonce(parseAddress(lane));
  await t.chain.send([advanceNonceInstruction(parseAddress(lane), feePayer.publicKey)], [feePayer], value ?? '');
  await t.chain.control.finalized((await t.chain.control.status()).slot + 1);
}

test('a snapshot that is older than the rotation of the fee payer stops all signing, also when the workers get the recorded key again', async () => {
  const recorded = await keysNow();
  const feePayer = await newFeePayer();
  await useLane(feePayer, await openLaneOf(feePayer, 3));
  const rotated = { FEE_PAYER_KEY: textOf(feePayer) };
  await start(rotated);
  const stopped = {
    stop: expect.stringMatching(/FEE_PAYER_KEY is .* nothing is signed until an operator accepts the new ones/),
    changed: ['feePayer'],
  };
  await untilChain({ ...stopped, doubt: expect.stringContaining('the chain has payout lanes of the fee payer that the database does not know') });
  expect(await sql(t.app, `select scope from chain_pauses where scope in ('everything', 'roots') order by 1`)).toEqual([
    { scope: 'everything' },
    { scope: 'roots' },
  ]);
  await stop();
  await start();
  await untilChain(stopped);
  await stop();
  await start(rotated);
  await admin().ok(postAcceptKeys, { body: { changed: ['feePayer'] } });
  await untilChain({ stop: null, doubt: null, keys: { feePayer: feePayer.publicKey.toBase58() } });
  await stop();
  await recordKeys(recorded);
}, 60_000);

test('a rotation of the fee payer to a key whose lanes the database knows or that only opened its lanes, or to a new key with foreign lamports on its lanes, stops nothing', async () => {
  const recorded = await keysNow();
  const known = await newFeePayer();
  const address = await openLaneOf(known, 0);
  await sql(t.app, `insert into chain_transactions (kind, subject, state) values ('open-payout-lane', $1, 'finalized')`, [`0:${address}`]);
  const fresh = await newFeePayer();
  const stranger = await newFeePayer();
  await t.chain.send([transferLamports(stranger.publicKey, laneAddress(fresh.publicKey, 0), 5_000_000)], [stranger]);
  const prepared = await newFeePayer();
  await openLaneOf(prepared, 0);
  for (const feePayer of [known, fresh, prepared]) {
    await start({ FEE_PAYER_KEY: textOf(feePayer) });
    await untilChain({ stop: null, doubt: null, keys: { feePayer: feePayer.publicKey.toBase58() } });
    await stop();
  }
  await recordKeys(recorded);
}, 60_000);

test.each([
  ['COMMITTER_KEY', 'committer', (key: Signer) => ({ COMMITTER_KEY: textOf(key), COMMITTER_ADDRESS: key.publicKey.toBase58() })],
  ['USDC_MINT', 'usdcMint', (key: Signer) => ({ USDC_MINT: key.publicKey.toBase58() })],
] as const)(
  'after a restore with another %s, nothing is signed until an operator accepts it by name',
  async (setting, name, settings) => {
    const recorded = await keysNow();
    await sql(t.app, 'update chain_record set timeline = timeline - 1');
    const other = newSigner();
    await start(settings(other));
    await untilChain({ stop: expect.stringContaining(`${setting} is ${other.publicKey.toBase58()}, but `), changed: [name] });
    expect(await sql(t.app, `select scope from chain_pauses where scope = 'everything'`)).toHaveLength(1);
    expect((await admin().call(postAcceptKeys, { body: { changed: ['treasury'] } })).status).toBe(409);
    await admin().ok(postAcceptKeys, { body: { changed: [name] } });
    await untilChain({ stop: null, doubt: null, keys: { [name]: other.publicKey.toBase58() } });
    expect(await sql(t.app, `select scope from chain_pauses where scope in ('everything', 'roots')`)).toEqual([]);
    await stop();
    await recordKeys(recorded);
  },
  60_000,
);
