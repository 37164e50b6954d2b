import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Keypair, PublicKey } from '@solana/web3.js';
import { z } from 'zod';
import { type Debt, owe } from '#areas/payouts';
import type { LandedCommitment } from '#lib/draw/audit.ts';
import { type BeaconChain, roundToCommit, timeOf } from '#lib/draw/beacon-chain.ts';
import { commitmentHash, commitmentMemo, NO_PREVIOUS } from '#lib/draw/commitment.ts';
import { type Entry, entriesRoot } from '#lib/draw/entry.ts';
import { parametersHash, type RoundParameters } from '#lib/draw/parameters.ts';
import { associatedTokenAddress, createAssociatedTokenAccount, memo, mintTo } from '#platform/solana/tokens.ts';
import { addressOf, chatParameters, entriesOf, uuidOf } from '#test/lib/draw-rounds.ts';
import { generator } from '#test/support/areas/board-model.ts';
import { sql } from '#test/support/areas/boards.ts';
import { eventually } from '#test/support/areas/player.ts';
import { startRoundsTest } from '#test/support/areas/rounds.ts';
import { type StoredRound, storeRound } from '#test/support/areas/stored-rounds.ts';
import { transfer } from '#test/support/solana/chain.ts';
import { type RewardsTest, sendAs } from '#test/support/solana/claims.ts';
import { HASTE, pinned, verifyRound } from '#test/support/verify/verify-round.ts';
import { send } from '#test/support/wallet.ts';
import { beaconAt } from '#tools/verify/round-published.ts';

let t: RewardsTest;
let beacon: BeaconChain;
/** Drawn; void, though it was committed to; frozen and not committed to. */
const rounds: StoredRound[] = [];
const random = generator(12);
const LEAD_SEC = 3;

/** A round's commitment as it landed. */
async function commit(parameters: RoundParameters, entries: readonly Entry[], previous: LandedCommitment | null): Promise<LandedCommitment> {
  const { committer } = t.chain.keys;
  const beaconRound = roundToCommit(beacon, Date.now(), LEAD_SEC);
  const [round, count] = [parameters.round, entries.length];
  const text = commitmentMemo({
    ...{ sequence: previous ? 2 : 1, round, entriesRoot: entriesRoot(round, entries) ?? '', count, parametersHash: parametersHash(parameters) },
    ...{ chainHash: beacon.chainHash, beaconRound, previous: previous ? commitmentHash(previous.memo) : NO_PREVIOUS },
  });
  const signature = await sendAs(t, committer, [memo(text, [committer.publicKey])]);
  let slot = 0;
  await eventually(async () => {
    const { value } = await t.chain.connection.getSignatureStatus(signature);
    if (value?.confirmationStatus !== 'finalized') throw new Error(`${signature} is not final`);
    slot = value.slot;
  });
  const block = await t.chain.connection.getBlock(slot, { commitment: 'finalized', transactionDetails: 'none', maxSupportedTransactionVersion: 1 });
  const blockTime = new Date((block?.blockTime ?? 0) * 1_000).toISOString();
  return { memo: text, committer: committer.publicKey.toBase58(), signature, slot, blockhash: block?.blockhash ?? '', blockTime };
}

async function signatureOf(round: number): Promise<string> {
  await sleep(Math.max(0, timeOf(beacon, round) - Date.now()));
  const Answer = z.object({ signature: z.string() });
  let signature = '';
  await eventually(async () => {
    signature = Answer.parse(await (await fetch(`${t.chain.localnet.url}/beacon/public/${round}`)).json()).signature;
  });
  return signature;
}

beforeAll(async () => {
  t = await startRoundsTest({ workers: false });
  const { committer, rewardMint } = t.chain.keys;
  beacon = await beaconAt(`${t.chain.localnet.url}/beacon`);
  await t.chain.fundWallet(undefined, committer);
  const timing = { leadSec: LEAD_SEC, marginSec: 1 };
  const winners = Array.from({ length: 3 }, () => Keypair.generate().publicKey.toBase58());
  const mint = rewardMint.publicKey.toBase58();
  const prizes = [{ amount: '500', mint }];
  const parameters = (name: string) => chatParameters({ ...timing, round: uuidOf(name), prizes, range: 5, maxEntriesPerWallet: 9 });
  const make = (name: string): [RoundParameters, Entry[]] => {
    const own = parameters(name);
    return [own, entriesOf(own, 9, 3, random).map((entry) => ({ ...entry, wallet: winners[entry.index % 3] ?? '' }))];
  };

  // Somebody else names the committer, and says the same and worse.
  const stranger = await t.chain.fundWallet();
  const forged = memo(`coinop/commitment/1 seq=1 round=${uuidOf('drawn')}`, [stranger.publicKey]);
  await sendAs(t, stranger, [transfer(stranger, committer.publicKey, 1_000_000), forged]);
  const [drawn, entries] = make('drawn');
  const first = await commit(drawn, entries, null);
  await sendAs(t, committer, [memo('gm', [committer.publicKey])]);
  const [voided, others] = make('void');
  const second = await commit(voided, others, first);
  const round = Number(/beacon=(\d+)/.exec(first.memo)?.[1]);
  const signature = await signatureOf(round);

  rounds.push(await storeRound(t.app, drawn, entries, { facts: { commitment: first, beacon: { chain: beacon, signature } } }));
  const unsigned = { commitment: second, beacon: { chain: beacon, signature: null } };
  rounds.push(await storeRound(t.app, voided, others, { state: 'void', voidReason: 'no-beacon', sequence: 2, facts: unsigned }));
  rounds.push(await storeRound(t.app, ...make('closing'), { state: 'closing' }));
  await pay(rounds[0]);
}, 120_000);
afterAll(() => t.close());

/** Pays a round's winner as the treasury would. */
async function pay(round: StoredRound | undefined): Promise<void> {
  const winner = round?.audit.winners?.[0];
  if (!round || !winner) throw new Error('nobody won');
  const { mintAuthority, rewardMint } = t.chain.keys;
  const wallet = new PublicKey(winner.wallet);
  const account = associatedTokenAddress(wallet, rewardMint.publicKey);
  const signature = await sendAs(t, mintAuthority, [
    createAssociatedTokenAccount(mintAuthority.publicKey, wallet, rewardMint.publicKey),
    mintTo(rewardMint.publicKey, account, mintAuthority.publicKey, BigInt(winner.prize.amount)),
  ]);
  const debt: Debt = {
    wallet: winner.wallet,
    currency: 'reward',
    amount: BigInt(winner.prize.amount),
    cause: { kind: 'prize', id: `${round.id}:1` },
  };
  const [owed] = await t.app.tx((tx) => owe(t.app, tx, [debt]));
  await sql(t.app, `update payments set state = 'completed', signature = $2, completed_at = app_now() where id = $1`, [owed?.id, signature]);
  await eventually(async () => {
    const { value } = await t.chain.connection.getSignatureStatus(signature);
    if (value?.confirmationStatus !== 'finalized') throw new Error('the prize is not final');
  });
}

const rpc = () => ['--rpc', t.chain.localnet.url];
const idOf = (at: number) => rounds[at]?.id ?? '';

test('a drawn round fits, its prize is found on the chain, and nobody’s word is taken', async () => {
  const { code, out, err } = await verifyRound(t.url, idOf(0), ...pinned(t));
  expect([code, err]).toEqual([0, '']);
  expect(out).toMatch(/every commitment since the first.*\n9 entries under the root.*\n.*another implementation.*\ncommitment 1 in slot/);
  expect(out).toMatch(
    /its signature verifies\ndrawn again from the seed.*numbers.*\n1 winners.*\n1 of 1 prizes are paid.*\nround .* is what it says: finalized\n$/,
  );
});

test('a round that is void, and one that has not come far, fit too; the service’s word is taken where nothing is pinned, and said to be', async () => {
  const voided = await verifyRound(t.url, idOf(1), ...rpc(), ...HASTE, '--beacon', 'service');
  expect([voided.code, voided.out]).toEqual([
    0,
    expect.stringMatching(/void for a reason that holds: no-beacon\n.*24 hours.*is what it says: void\n$/s),
  ]);
  expect(voided.err).toMatch(/warning: which beacon decides is taken on the word of .*\nwarning: that \w+ is the committer is taken on the word of/);
  const closing = await verifyRound(t.url, idOf(2), ...pinned(t));
  expect([closing.code, closing.out]).toEqual([0, expect.stringMatching(/is what it says: closing, not committed yet\n$/)]);
});

test('what does not fit is named, with status 1', async () => {
  // Another beacon than the one that is built in; a key that committed to nothing; too much haste.
  const unpinned = pinned(t).filter((_, i, all) => ![all.indexOf('--beacon'), all.indexOf('--beacon') + 1].includes(i));
  expect(await verifyRound(t.url, idOf(0), ...unpinned)).toMatchObject({
    code: 1,
    err: expect.stringContaining('commitment.memo: names another beacon'),
  });
  const stranger = await verifyRound(t.url, idOf(0), ...pinned(t).slice(0, -1), addressOf('stranger'));
  expect([stranger.code, stranger.err]).toEqual([1, expect.stringMatching(/does not fit: commitment\.committer|nothing of this round/)]);
  const strict = await verifyRound(t.url, idOf(0), ...pinned(t).filter((part) => !HASTE.includes(part)));
  expect([strict.code, strict.err]).toEqual([1, expect.stringContaining('parameters.leadSec: is less than 180 seconds')]);
});

test('a service that leaves an entry out is found out', async () => {
  const service = createServer(async (request, response) => {
    const answer = await send(t, request.url ?? '/');
    const text = await answer.text();
    response.writeHead(answer.status).end(request.url?.includes('ndjson') ? text.slice(text.indexOf('\n') + 1) : text);
  });
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
  const { code, err } = await verifyRound(url, idOf(0), ...pinned(t));
  service.close();
  expect([code, err]).toEqual([1, expect.stringContaining('does not fit: entries')]);
});

test('what cannot be read, or is not asked for properly, is no verdict', async () => {
  const dead = 'http://127.0.0.1:1';
  expect(await verifyRound(dead, idOf(0), ...pinned(t))).toMatchObject({ code: 2, err: expect.stringContaining('could not be checked') });
  expect(await verifyRound(t.url, idOf(0), ...pinned(t), '--rpc', dead)).toMatchObject({
    code: 2,
    err: expect.stringContaining('could not be checked'),
  });
  expect(await verifyRound(t.url, uuidOf('nobody knows'), ...pinned(t))).toMatchObject({
    code: 2,
    err: expect.stringContaining('there is no chat round'),
  });
  for (const args of [[], [t.url], [t.url, '17'], [t.url, idOf(0), '--committer', 'me'], [t.url, idOf(0), '--more'], ['x', idOf(0)]])
    expect(await verifyRound(...args)).toMatchObject({ code: 2, err: expect.stringContaining('usage: bin/verify-round') });
});
