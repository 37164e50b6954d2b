import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { PayoutsOfRound } from '#areas/lottery/results-schemas.ts';
import { commitmentAddress } from '#lib/draw/accounts.ts';
import { type RpcSource, rpcSource, verifyRound } from '#packages/verify/src/index.ts';
import { programDataAddress } from '#packages/verify/src/program.ts';
import { parseAddress } from '#platform/solana/primitives.ts';
import { sendMessage } from '#test/support/areas/chat.ts';
import { startRound } from '#test/support/areas/draws.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { startRoundsTest, untilState } from '#test/support/areas/rounds.ts';
import { jsonOf } from '#test/support/http/json.ts';
import { transfer } from '#test/support/solana/chain.ts';
import type { RewardsTest } from '#test/support/solana/claims.ts';
import { tokenAccount } from '#test/support/verify/world.ts';
import { type SignedIn, send, signIn } from '#test/support/wallet.ts';

/** Number of a stranger's transactions that name each address, and the number of them between two pauses. */
const PER_ADDRESS = 3_000;
const PER_PAUSE = 100;

let t: RewardsTest;
let players: SignedIn[];
beforeAll(async () => {
  t = await startRoundsTest();
  players = await Promise.all(Array.from({ length: 3 }, () => signIn(t)));
}, 120_000);
afterAll(() => t?.close());

/** Starts a round that closes after some seconds, and enters it with all players. Returns its id and the receipts. */
async function enterRound(durationSec: number): Promise<{ id: string; receipts: unknown[] }> {
  const { id } = await startRound(t, { durationSec });
  const entered = await Promise.all(players.map((player) => sendMessage(player, '!enter')));
  expect(entered.map(({ status }) => status)).toEqual([201, 201, 201]);
  return { id, receipts: entered.map(({ body }) => body.entry?.receipt) };
}

async function untilPaid(id: string): Promise<void> {
  await untilState(t, id, 'finalized', 120_000);
  await retryUntilPass(async () => {
    const { status } = await jsonOf(send(t, `/chat/round/${id}/payouts`), PayoutsOfRound);
    if (status !== 'completed') throw new Error(`the payouts are ${status}`);
  }, 120_000);
}

/** Returns every address that a round involves. */
function addressesOf(id: string): string[] {
  const { keys, env } = t.chain;
  const draws = env.DRAWS_ADDRESS ?? '';
  const [program, treasury] = [keys.drawsProgram.publicKey.toBase58(), keys.treasury.publicKey.toBase58()];
  const mints = [keys.rewardMint, keys.usdcMint].map(({ publicKey }) => publicKey.toBase58());
  const wallets = [treasury, ...players.map(({ wallet }) => wallet)];
  return [
    ...[program, programDataAddress(program), draws, commitmentAddress(program, draws, id).address],
    ...[keys.committer, keys.feePayer].map(({ publicKey }) => publicKey.toBase58()),
    ...wallets.flatMap((wallet) => [wallet, ...mints.map((mint) => tokenAccount(wallet, mint))]),
  ];
}

/** Verifies a round with all pins. Returns the verdict, the checks that do not hold, and the methods of the calls of the node. */
async function verify({ id: round, receipts }: { id: string; receipts: unknown[] }) {
  const { keys, env, localnet } = t.chain;
  const methods: string[] = [];
  const node = rpcSource(localnet.url);
  const rpc: RpcSource = (method, params) => {
    methods.push(method);
    return node(method, params);
  };
  const pins = { draws: env.DRAWS_ADDRESS, beacon: env.DRAND_CHAIN_HASH, treasury: keys.treasury.publicKey.toBase58() };
  const given = { round, house: t.url, rpc, beacon: [`${localnet.url}/beacon`], pins, receipts, development: true };
  const { verdict, steps } = await verifyRound(given);
  return { verdict, faults: steps.filter(({ outcome }) => outcome !== 'true'), methods };
}

/** Counts the finalized transactions that name an address, at most 1,000. */
async function countTransactions(address: string): Promise<number> {
  return (await t.chain.connection.getSignaturesForAddress(parseAddress(address), { limit: 1_000 }, 'finalized')).length;
}

test(`an honest house is not accused while a stranger names each address of a round in ${PER_ADDRESS} transactions, and a verification takes no more calls`, async () => {
  const quiet = await enterRound(4);
  await untilPaid(quiet.id);
  const before = await verify(quiet);
  expect(before).toMatchObject({ verdict: 'true', faults: [] });

  const busy = await enterRound(8);
  const addresses = [...new Set([...addressesOf(quiet.id), ...addressesOf(busy.id)])];
  // Lamports at the address of the commitment, before the commitment exists, must not prevent it.
  const { address } = commitmentAddress(t.chain.keys.drawsProgram.publicKey.toBase58(), t.chain.env.DRAWS_ADDRESS ?? '', busy.id);
  const stranger = await t.chain.fundWallet();
  await t.chain.send([transfer(stranger, parseAddress(address), 1_000_000)], [stranger]);
  const paid = untilPaid(busy.id);
  for (let sent = 0; sent < PER_ADDRESS; sent += PER_PAUSE) {
    await t.chain.control.strangers(addresses, PER_PAUSE);
    await sleep(500);
  }
  await paid;
  await retryUntilPass(async () => {
    const counts = await Promise.all(addresses.map(countTransactions));
    if (Math.min(...counts) < 1_000) throw new Error('the transactions of the stranger are not finalized');
  }, 30_000);

  const [first, second] = [await verify(quiet), await verify(busy)];
  expect(first).toEqual(before);
  expect(second).toMatchObject({ verdict: 'true', faults: [] });
  expect(second.methods).not.toContain('getSignaturesForAddress');
  // The number of calls depends a little on slots without a block, but not on the stranger.
  expect(second.methods.length).toBeLessThanOrEqual(before.methods.length + 5);
}, 480_000);
