import { sql } from 'kysely';
import { type Currency, createPayments } from '#areas/payouts';
import type { Audit } from '#lib/draw/audit.ts';
import type { App } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { beaconOf } from '#platform/solana/beacon/index.ts';
import { readDraws } from '../draws/account.ts';
import { entryChunks } from '../entries.ts';
import { roundFinalized, winnerAnnounced } from '../events.ts';
import { build } from '../rows.ts';
import { mintOf } from '../treasury.ts';
import { readCommitment } from './commitments.ts';
import { evaluateInThread } from './in-worker-thread.ts';
import { type ClosedRound, postponeRound } from './rows.ts';

/** Delay before a retry while the randomness beacon cannot be read, ms: a tenth of the time since the beacon round was due, within these limits. */
const MIN_BEACON_RETRY_MS = 2_000;
const MAX_BEACON_RETRY_MS = 60_000;
/** Delay before a retry when the stored entries are corrupt, ms. An operator must restore the entries. */
const CORRUPT_RETRY_MS = 30_000;

/** A round whose commitment is recorded. */
type CommittedRound = ClosedRound & { readonly beaconRound: number; readonly beaconDueAt: string };
export const isCommitted = (round: ClosedRound): round is CommittedRound => round.beaconRound !== null && round.beaconDueAt !== null;

/**
 * Draws a lottery round if the randomness beacon has published the value that the commitment names. The commitment decides the beacon round for ever:
 * while the beacon is silent or entries are missing, the round waits.
 * @returns false when the round cannot advance now
 */
export async function draw(app: App, round: CommittedRound): Promise<boolean> {
  const { id, beaconRound, beaconDueAt } = round;
  const beacon = beaconOf(app);
  const answer = await beacon.fetchRound(beaconRound);
  const now = app.clock.now().getTime();
  if (answer.state === 'not-yet') return await postpone(app, round, answer.dueAt.getTime() - now);
  if (answer.state === 'unavailable') {
    app.log.warn({ round: id, beaconRound, faults: answer.faults }, 'the beacon round cannot be read; the draw is retried');
    const delay = (now - Date.parse(beaconDueAt)) / 10;
    return await postpone(app, round, Math.min(MAX_BEACON_RETRY_MS, Math.max(MIN_BEACON_RETRY_MS, delay)));
  }
  const commitment = await readCommitment(app.db, id);
  if (!commitment) throw new Error(`round ${id} is committed, but its commitment is not recorded`);
  const [{ account, address }, chain] = await Promise.all([readDraws(app), beacon.chain()]);
  const { parameters, parametersHash, announcement, closed } = round;
  const committed = { draws: { ...account, address: address.toBase58() }, commitment, chain, signature: answer.signature };
  const request = { parameters, parametersHash, announcement, closed, committed };
  const evaluation = await evaluateInThread(round.entries, request, entryChunks(app.db, id));
  if (evaluation.result === 'invalid') {
    app.log.error(
      { round: id, fault: evaluation },
      'a committed round cannot be drawn from its stored entries; it waits until an operator restores them',
    );
    return await postpone(app, round, CORRUPT_RETRY_MS);
  }
  await app.tx((tx) => publishDraw(app, tx, round, evaluation.audit));
  return true;
}

async function postpone(app: App, { id }: CommittedRound, ms: number): Promise<false> {
  await app.tx((tx) => postponeRound(tx, id, Math.max(0, ms)));
  return false;
}

/** Stores a draw, creates the payments of its prizes, and emits its events. Idempotent. */
async function publishDraw(app: App, tx: Tx, round: CommittedRound, audit: Audit): Promise<void> {
  const { id, kind } = round;
  const finalized = { state: 'finalized', audit: JSON.stringify(audit), ended_at: sql<string>`app_now()` } as const;
  const finalization = build.updateTable('rounds').set(finalized).where('id', '=', id).where('state', '=', 'committed');
  if ((await run(tx, finalization.returning('id'))).length === 0) return;
  const winners = (audit.winners ?? []).map((winner) => ({
    ...winner,
    amount: BigInt(winner.prize.amount),
    mint: currencyOf(app, winner.prize.mint),
  }));
  // Only winners with a prize are paid: a round of free tickets has a winner but no prize.
  const paid = winners.filter(({ amount }) => amount > 0n);
  const rows = paid.map(({ place, index, wallet, matches, amount, mint }) => ({
    ...{ round: id, place, index, wallet, matches, mint },
    amount: String(amount),
  }));
  if (rows.length > 0) await run(tx, build.insertInto('round_winners').values(rows));
  const requests = paid.map(({ place, wallet, amount, mint }) => ({
    wallet,
    currency: mint,
    amount,
    cause: { kind: 'prize', id: `${id}:${place}` },
  }));
  await createPayments(app, tx, requests);
  const winningTicket = kind === 'legacy' ? (audit.draw?.drawn[0] ?? null) : null;
  tx.emit(roundFinalized, { roundId: id, kind, numbers: audit.draw?.numbers ?? [], winningTicket, winners: winners.length });
  tx.emitAll(
    winnerAnnounced,
    winners.map(({ place, wallet, mint, prize }) => ({ roundId: id, kind, place, wallet, prize: { amount: prize.amount, mint } })),
  );
}

/** Returns the currency of a mint. @throws when the service does not pay in this mint */
function currencyOf(app: App, mint: string): Currency {
  const currency = (['usdc', 'reward'] as const).find((one) => mintOf(app, one).toBase58() === mint);
  if (!currency) throw new Error(`a prize is in mint ${mint}, but the service does not pay in this mint`);
  return currency;
}
