import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readDraws } from '#areas/lottery/draws/account.ts';
import { drawsAddress, initDraws } from '#platform/solana/draws/index.ts';
import { newSigner } from '#platform/solana/primitives.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { EASY } from '#test/support/areas/draws.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { asAdmin, startRoundsTest } from '#test/support/areas/rounds.ts';
import type { RewardsTest } from '#test/support/solana/claims.ts';
import { send, signIn } from '#test/support/wallet.ts';

let t: RewardsTest;
beforeAll(async () => {
  t = await startRoundsTest({ workers: false });
});
afterAll(() => t?.close());

/** Starts an application with changed settings, for one test. */
async function withApp(env: Record<string, string>, work: (app: TestApp) => Promise<void>): Promise<void> {
  const app = await startTestApp({ workers: false, env: { ...t.chain.env, DRAW_LEAD_SEC: '3', ...env } });
  try {
    await work(app);
  } finally {
    await app.close();
  }
}

test('the draws account of the cluster matches the configuration', async () => {
  const { account, address, genesisHash } = await readDraws(t.app);
  expect(account).toMatchObject({ isDevelopment: true, committer: t.chain.env.COMMITTER_ADDRESS, chainHash: t.chain.env.DRAND_CHAIN_HASH });
  expect(address.toBase58()).toBe(t.chain.env.DRAWS_ADDRESS);
  expect(genesisHash).toBe(await t.chain.connection.getGenesisHash());
});

test('no round starts when the receipt key, the committer, the lead, the account or the program differs', async () => {
  const stranger = newSigner();
  const committer = { COMMITTER_KEY: JSON.stringify([...stranger.secretKey]), COMMITTER_ADDRESS: stranger.publicKey.toBase58() };
  const cases: [Record<string, string>, string][] = [
    [{ RECEIPT_KEY: Buffer.alloc(32, 5).toString('base64') }, 'but the public key of RECEIPT_KEY is'],
    [committer, 'but COMMITTER_KEY or COMMITTER_ADDRESS is'],
    [{ DRAW_LEAD_SEC: '700' }, 'DRAW_LEAD_SEC is 700, but must be 1 to 601'],
    [{ DRAWS_ADDRESS: newSigner().publicKey.toBase58() }, 'is not a draws account of program'],
    [{ DRAWS_PROGRAM_ID: t.chain.env.DISTRIBUTOR_PROGRAM_ID ?? '' }, 'has other bytes than draws.so'],
    [{ DRAWS_PROGRAM_ID: newSigner().publicKey.toBase58() }, 'does not exist'],
  ];
  for (const [env, reason] of cases) {
    await withApp(env, async (app) => {
      const created = await send(app, '/chat/round', { json: EASY, headers: asAdmin });
      const { id } = (await created.json()) as { id: string };
      const refused = await send(app, `/chat/round/${id}/start`, { method: 'POST', headers: asAdmin });
      expect([refused.status, await refused.json()]).toEqual([503, { error: expect.stringContaining(reason) }]);
      const player = await signIn(app);
      expect((await player.fetch('/round', { json: { ticketPrice: '0' } })).status).toBe(503);
    });
  }
});

test('a draws account of another beacon is refused', async () => {
  const founder = newSigner();
  const { feePayer, committer, receipts, drawsProgram } = t.chain.keys;
  const program = drawsProgram.publicKey;
  const { account } = await readDraws(t.app);
  const facts = { period: account.period + 1, genesis: account.genesis, margin: 1, window: 600, chainHash: account.chainHash, isDevelopment: true };
  const keys = { payer: feePayer.publicKey, founder: founder.publicKey, committer: committer.publicKey, receiptKey: receipts.publicKey };
  await t.chain.send([initDraws({ program, ...keys, ...facts })], [feePayer, founder]);
  const address = drawsAddress(program, founder.publicKey);
  await retryUntilPass(async () => expect(await t.chain.connection.getAccountInfo(address, 'finalized')).not.toBeNull());
  await withApp({ DRAWS_ADDRESS: address.toBase58() }, async ({ app }) => {
    await expect(readDraws(app)).rejects.toThrow('does not match the configuration: draws.period');
  });
});
