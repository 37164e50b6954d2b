import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import type { FaultRule } from '#dev/localnet/control/commands.ts';
import { LocalnetControl } from '#dev/localnet/control/control.ts';
import { SYSTEM_ADMIN_TOKEN, type System, startSystem } from '#dev/stack/system.ts';
import { newSigner, parseAddress, type Signer } from '#platform/solana/primitives.ts';
import { associatedTokenAddress, decodeTokenAccount } from '#platform/solana/tokens.ts';
import { type PatientPlayer, patientPlayer, retryUntilPass } from '#test/support/areas/player.ts';
import { connect, type TestConnection } from '#test/support/solana/chain.ts';
import { type LeafProof, relayClaim } from '#test/support/solana/relay.ts';
import { send } from '#test/support/wallet.ts';

/** Number of kills of workers. bin/soak sets a higher one. */
const KILLS = 30 * Number(process.env.CHAOS_ROUNDS ?? 1);
const WORKERS = 4;
const PLAYERS = 16;
const EPOCHS = 8;

let system: System;
let control: LocalnetControl;
let connection: TestConnection;
let players: PatientPlayer[];
let db: pg.Client;
const epochs = Array.from({ length: EPOCHS }, (_, i) => Math.floor(Date.now() / 86_400_000) - 1 - i);
/** Expected final balances per wallet, base units. */
const due = { reward: new Map<string, bigint>(), usdc: new Map<string, bigint>() };
const add = (sums: Map<string, bigint>, wallet: string, amount: bigint) => sums.set(wallet, (sums.get(wallet) ?? 0n) + amount);

beforeAll(async () => {
  system = await startSystem({
    workers: WORKERS,
    localnet: { slotMs: 20, finalizedAfter: 8 },
    env: { LANDING_POLL_MS: '50', LANDING_RECHECK_MS: '200', LANDING_DEPTH_BLOCKS: '4', LANDING_GIVE_UP_MS: '3000', LOG_LEVEL: 'fatal' },
  });
  if (!system.localnet) throw new Error('the system has no localnet');
  control = new LocalnetControl(system.localnet.url);
  connection = connect(system.localnet.url);
  players = await Promise.all(Array.from({ length: PLAYERS }, () => patientPlayer(system.urls)));
  db = new pg.Client({ connectionString: system.postgres.url });
  await db.connect();
  for (const epoch of epochs) {
    const distribution = players.map(({ wallet }) => ({ wallet, amount: String(randomInt(2_000_000, 50_000_000)) }));
    for (const { wallet, amount } of distribution) add(due.reward, wallet, BigInt(amount));
    const imported = await asAdmin('/api/rewards/epoch/import', { epoch, distribution });
    expect([200, 201, 202]).toContain(imported.status);
  }
}, 120_000);

afterAll(async () => {
  await db?.end();
  await system?.stop();
}, 60_000);

const asAdmin = (path: string, json: unknown) =>
  send({ url: system.urls[0] ?? '' }, path, { json, headers: { Authorization: `Bearer ${SYSTEM_ADMIN_TOKEN}` } });

const addressOf = (variable: string) => parseAddress(system.env[variable] ?? '');

/** Claims a player's reward directly on the chain, without the service, paid by another key. */
async function relay(stranger: Signer, wallet: string, epoch: number): Promise<void> {
  const leaf = (await (await send({ url: system.urls[0] ?? '' }, `/api/rewards/epoch/${epoch}/proof/${wallet}`)).json()) as LeafProof;
  await relayClaim(connection, system.env, stranger, { wallet, epoch, leaf });
}

/** Claims a reward of an epoch, and retries until it is claimed. */
async function claim(player: PatientPlayer, epoch: number): Promise<void> {
  await retryUntilPass(async () => {
    const { body } = await player.request<LeafProof>(`/api/rewards/epoch/${epoch}/proof/${player.wallet}`);
    const answer = await player.request<{ error?: string }>('/api/rewards/claim', { json: { epoch, proof: body.proof } });
    const done = answer.status === 200 || answer.status === 202 || /claimed already/.test(answer.body.error ?? '');
    if (!done) throw new Error(`claim returned ${answer.status} ${JSON.stringify(answer.body)}`);
  }, 60_000);
}

/** Faults of the localnet during the test. */
const FAULTS: readonly FaultRule[] = [
  { kind: 'drop', methods: ['sendTransaction'], probability: 0.05 },
  { kind: 'loseReply', methods: ['sendTransaction'], probability: 0.05 },
  { kind: 'late', slots: 20, methods: ['sendTransaction'], probability: 0.05 },
  { kind: 'fork', slots: 4, methods: ['sendTransaction'], probability: 0.03 },
  { kind: 'fail', status: 503, probability: 0.02 },
  { kind: 'rateLimit', retryAfter: 0, probability: 0.02 },
  { kind: 'cut', probability: 0.02 },
];

test(
  `workers that are killed ${KILLS} times make each payment and claim once, and detect claims that others send to the chain`,
  async () => {
    for (const fault of FAULTS) await control.fault(fault);
    const stranger = newSigner();
    await fetch(`${system.localnet?.url}/faucet`, { method: 'POST', body: JSON.stringify({ wallet: stranger.publicKey.toBase58(), sol: 100 }) });
    let over = false;
    let kills = 0;

    const claiming = players.map(async (player) => {
      for (const epoch of epochs) {
        while (!over && kills < (KILLS * epochs.indexOf(epoch)) / EPOCHS) await sleep(50 + randomInt(100));
        if (randomInt(4) === 0) await relay(stranger, player.wallet, epoch).catch(() => undefined);
        await claim(player, epoch);
      }
    });
    const paying = (async () => {
      for (let n = 0; !over; n++) {
        const wallet = players[n % PLAYERS]?.wallet ?? '';
        const amount = String(randomInt(1, 2_000_000));
        const body = { wallet, currency: 'usdc', amount, reference: `chaos-${n}` };
        await retryUntilPass(async () => expect([200, 201, 202]).toContain((await asAdmin('/admin/payments', body)).status), 30_000);
        add(due.usdc, wallet, BigInt(amount));
        await sleep(150);
      }
    })();

    while (kills < KILLS) {
      await sleep(randomInt(100, 500));
      const worker = system.workers[randomInt(WORKERS)];
      await worker?.kill();
      await worker?.start();
      kills++;
    }
    over = true;
    await Promise.all([...claiming, paying]);
    await control.clear();

    await retryUntilPass(async () => {
      const { rows } = await db.query(`
      select 'transaction ' || kind || ' ' || state as what, count(*)::int from chain_transactions
        where state not in ('finalized', 'failed') or (state = 'failed' and kind = 'claim') group by 1
      union all select 'payment ' || state, count(*)::int from payments where state <> 'completed' group by 1
      union all select 'claim ' || state, count(*)::int from claims where state <> 'claimed' group by 1`);
      expect(rows).toEqual([]);
    }, 90_000);
    for (const [name, sums] of [['REWARD_MINT', due.reward] as const, ['USDC_MINT', due.usdc] as const]) {
      for (const [wallet, amount] of sums) {
        const account = await connection.getAccountInfo(associatedTokenAddress(parseAddress(wallet), addressOf(name)), 'finalized');
        expect([name, wallet, decodeTokenAccount(account)?.amount ?? 0n]).toEqual([name, wallet, amount]);
      }
    }
    const { rows } = await db.query(`select transaction_id from chain_attempts where state = 'finalized' group by 1 having count(*) > 1`);
    expect(rows).toEqual([]);
  },
  120_000 + 400_000 * Number(process.env.CHAOS_ROUNDS ?? 1),
);
