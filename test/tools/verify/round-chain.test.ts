import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { z } from 'zod';
import { createPayments, type PaymentRequest } from '#areas/payouts';
import type { LandedCommitment } from '#lib/draw/audit.ts';
import { type BeaconChain, roundToCommit, timeOf } from '#lib/draw/beacon-chain.ts';
import { commitmentHash, commitmentMemo, NO_PREVIOUS } from '#lib/draw/commitment.ts';
import { type Entry, entriesRoot } from '#lib/draw/entry.ts';
import { parametersHash, type RoundParameters } from '#lib/draw/parameters.ts';
import { newSigner, parseAddress } from '#platform/solana/primitives.ts';
import { associatedTokenAddress, createAssociatedTokenAccount, memo, mintTo } from '#platform/solana/tokens.ts';
import { addressOf, chatParameters, entriesOf, uuidOf } from '#test/lib/draw/rounds.ts';
import { randomGenerator } from '#test/support/areas/board-model.ts';
import { sql } from '#test/support/areas/boards.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { startRoundsTest } from '#test/support/areas/rounds.ts';
import { type StoredRound, storeRound } from '#test/support/areas/stored-rounds.ts';
import { transfer } from '#test/support/solana/chain.ts';
import { type RewardsTest, sendAs } from '#test/support/solana/claims.ts';
import { SHORT_TIMES, trustedOptions, verifyRound } from '#test/support/verify/verify-round.ts';
import { send } from '#test/support/wallet.ts';
import { readBeaconChain } from '#tools/verify/round-published.ts';

let t: RewardsTest;
let beacon: BeaconChain;
/** Three rounds: drawn; void after its commitment; frozen without a commitment. */
const rounds: StoredRound[] = [];
const random = randomGenerator(12);
const LEAD_SEC = 3;

/** Sends the commitment of a round and returns it as landed. */
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
  await retryUntilPass(async () => {
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
  await retryUntilPass(async () => {
    signature = Answer.parse(await (await fetch(`${t.chain.localnet.url}/beacon/public/${round}`)).json()).signature;
  });
  return signature;
}

beforeAll(async () => {
  t = await startRoundsTest({ workers: false });
  const { committer, rewardMint } = t.chain.keys;
  beacon = await readBeaconChain(`${t.chain.localnet.url}/beacon`);
  await t.chain.fundWallet(undefined, committer);
  const timing = { leadSec: LEAD_SEC, marginSec: 1 };
  const winners = Array.from({ length: 3 }, () => newSigner().publicKey.toBase58());
  const mint = rewardMint.publicKey.toBase58();
  const prizes = [{ amount: '500', mint }];
  const parameters = (name: string) => chatParameters({ ...timing, round: uuidOf(name), prizes, range: 5, maxEntriesPerWallet: 9 });
  const make = (name: string): [RoundParameters, Entry[]] => {
    const own = parameters(name);
    return [own, entriesOf(own, 9, 3, random).map((entry) => ({ ...entry, wallet: winners[entry.index % 3] ?? '' }))];
  };

  // Another wallet sends a forged commitment that lists the committer's key as an account.
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

/** Pays the winner of a round like the treasury. */
async function pay(round: StoredRound | undefined): Promise<void> {
  const winner = round?.audit.winners?.[0];
  if (!round || !winner) throw new Error('the round has no winner');
  const { mintAuthority, rewardMint } = t.chain.keys;
  const wallet = parseAddress(winner.wallet);
  const account = associatedTokenAddress(wallet, rewardMint.publicKey);
  const signature = await sendAs(t, mintAuthority, [
    createAssociatedTokenAccount(mintAuthority.publicKey, wallet, rewardMint.publicKey),
    mintTo(rewardMint.publicKey, account, mintAuthority.publicKey, BigInt(winner.prize.amount)),
  ]);
  const debt: PaymentRequest = {
    wallet: winner.wallet,
    currency: 'reward',
    amount: BigInt(winner.prize.amount),
    cause: { kind: 'prize', id: `${round.id}:1` },
  };
  const [owed] = await t.app.tx((tx) => createPayments(t.app, tx, [debt]));
  await sql(t.app, `update payments set state = 'completed', signature = $2, completed_at = app_now() where id = $1`, [owed?.id, signature]);
  await retryUntilPass(async () => {
    const { value } = await t.chain.connection.getSignatureStatus(signature);
    if (value?.confirmationStatus !== 'finalized') throw new Error('the prize is not final');
  });
}

const rpc = () => ['--rpc', t.chain.localnet.url];
const idOf = (at: number) => rounds[at]?.id ?? '';

test('a drawn round is verified without trusting the service, and its prize is found on the chain', async () => {
  const { code, out, err } = await verifyRound(t.url, idOf(0), ...trustedOptions(t));
  expect([code, err]).toEqual([0, '']);
  expect(out).toMatch(/all commitments since the first.*\n9 entries under the root.*\n.*another implementation.*\ncommitment 1 in slot/);
  expect(out).toMatch(
    /its signature is valid\ndraw recomputed from seed.*numbers.*\n1 winners.*\n1 of 1 prizes are paid.*\nround .* is verified: finalized\n$/,
  );
});

test('a void round and a closing round are verified; unpinned values come from the service with a warning', async () => {
  const voided = await verifyRound(t.url, idOf(1), ...rpc(), ...SHORT_TIMES, '--beacon', 'service');
  expect([voided.code, voided.out]).toEqual([0, expect.stringMatching(/void for a valid reason: no-beacon\n.*24 hours.*is verified: void\n$/s)]);
  expect(voided.err).toMatch(/warning: the beacon is not pinned; using the one that .*\nwarning: the committer is not pinned; using \w+ that /);
  const closing = await verifyRound(t.url, idOf(2), ...trustedOptions(t));
  expect([closing.code, closing.out]).toEqual([0, expect.stringMatching(/is verified: closing, not committed yet\n$/)]);
});

test('a mismatch is named with exit status 1', async () => {
  // Cases: another beacon than the built-in one; a key without commitments; times that are too short.
  const unpinned = trustedOptions(t).filter((_, i, all) => ![all.indexOf('--beacon'), all.indexOf('--beacon') + 1].includes(i));
  expect(await verifyRound(t.url, idOf(0), ...unpinned)).toMatchObject({
    code: 1,
    err: expect.stringContaining('commitment.memo: names another beacon chain'),
  });
  const stranger = await verifyRound(t.url, idOf(0), ...trustedOptions(t).slice(0, -1), addressOf('stranger'));
  expect([stranger.code, stranger.err]).toEqual([
    1,
    expect.stringMatching(/failed verification: commitment\.committer|the chain has no commitment of this round/),
  ]);
  const strict = await verifyRound(t.url, idOf(0), ...trustedOptions(t).filter((part) => !SHORT_TIMES.includes(part)));
  expect([strict.code, strict.err]).toEqual([1, expect.stringContaining('parameters.leadSec: is less than 180 seconds')]);
});

test('a service that omits an entry fails the verification', async () => {
  const service = createServer(async (request, response) => {
    const answer = await send(t, request.url ?? '/');
    const text = await answer.text();
    response.writeHead(answer.status).end(request.url?.includes('ndjson') ? text.slice(text.indexOf('\n') + 1) : text);
  });
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
  const { code, err } = await verifyRound(url, idOf(0), ...trustedOptions(t));
  service.close();
  expect([code, err]).toEqual([1, expect.stringContaining('failed verification: entries')]);
});

test('an unreachable service or RPC node and a wrong command line give exit status 2', async () => {
  const dead = 'http://127.0.0.1:1';
  expect(await verifyRound(dead, idOf(0), ...trustedOptions(t))).toMatchObject({ code: 2, err: expect.stringContaining('could not be checked') });
  expect(await verifyRound(t.url, idOf(0), ...trustedOptions(t), '--rpc', dead)).toMatchObject({
    code: 2,
    err: expect.stringContaining('could not be checked'),
  });
  expect(await verifyRound(t.url, uuidOf('nobody knows'), ...trustedOptions(t))).toMatchObject({
    code: 2,
    err: expect.stringContaining('there is no chat round'),
  });
  for (const args of [[], [t.url], [t.url, '17'], [t.url, idOf(0), '--committer', 'me'], [t.url, idOf(0), '--more'], ['x', idOf(0)]])
    expect(await verifyRound(...args)).toMatchObject({ code: 2, err: expect.stringContaining('usage: bin/verify-round') });
});
