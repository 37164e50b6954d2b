import { type Currency, owe } from '#areas/payouts';
import type { Audit } from '#lib/draw/audit.ts';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { beaconOf } from '#platform/solana/beacon/beacon.ts';
import { auditText } from '../audits.ts';
import { entryChunks } from '../entries.ts';
import { roundFinalized, winnerAnnounced } from '../events.ts';
import { mintOf } from '../reserve.ts';
import { judgeApart } from './in-worker-thread.ts';
import { type Landed, undrawnAudit } from './pending-audit.ts';
import { lockIn, lookAgainIn, type OpenedRound, storeTree } from './rows.ts';
import { landedOf } from './sequence.ts';
import { voidCommitted } from './void.ts';

/** How long until a round is looked at again, ms: when the beacon does not answer, and when its entries have to be restored. */
const BEACON_MS = 2_000;
const BROKEN_MS = 30_000;
/** So long after the beacon's round a round that cannot be drawn is void. */
const PATIENCE_MS = 24 * 3_600_000;
/** That the beacon cannot be had must have been seen for so long by this process: one that has just begun may have no network yet. */
const STUBBORN_MS = 60_000;

/** A round that is committed to. */
type Committed = OpenedRound & { readonly beaconRound: number; readonly beaconDueAt: string };
export const isCommitted = (round: OpenedRound): round is Committed => round.beaconRound !== null && round.beaconDueAt !== null;

/** Since when the beacon does not answer this process, by round, ms since 1970. */
const silent = new WeakMap<App, Map<string, number>>();

/** Draws a round once the beacon has spoken. @returns whether the round has gone on */
export async function draw(app: App, round: Committed): Promise<boolean> {
  const beacon = beaconOf(app);
  const now = app.clock.now().getTime();
  const answer = await beacon.ask(round.beaconRound);
  const patient = now - Date.parse(round.beaconDueAt) < PATIENCE_MS;
  if (answer.state === 'not-yet') return await later(app, round, answer.dueAt.getTime() - now);
  const commitment = await landedOf(app.db, round.id);
  if (!commitment) throw new Error(`round ${round.id} is committed to, and its commitment is not recorded`);
  const silence = silent.get(app) ?? new Map<string, number>();
  silent.set(app, silence);
  if (answer.state === 'unavailable') {
    const since = silence.get(round.id) ?? now;
    silence.set(round.id, since);
    app.log.warn({ round: round.id, beaconRound: round.beaconRound, faults: answer.faults }, 'the beacon’s round cannot be had');
    if (patient || now - since < STUBBORN_MS) return await later(app, round, BEACON_MS);
    return await end(app, round, 'no-beacon', { commitment, chain: await beacon.chain() });
  }
  silence.delete(round.id);
  return await drawBy(app, round, { commitment, chain: await beacon.chain() }, answer.signature, patient);
}

async function later(app: App, { id }: Committed, ms: number): Promise<false> {
  await app.tx((tx) => lookAgainIn(tx, id, Math.max(0, ms)));
  return false;
}

/** Ends a round for good that was committed to and cannot be drawn. Where its entries are others now, so are the leaves that are published. */
async function end(
  app: App,
  round: Committed,
  reason: 'no-beacon' | 'entries-differ',
  landed: Landed,
  tree?: readonly Uint8Array[] | null,
): Promise<boolean> {
  return await app.tx(async (tx) => {
    if (!(await lockIn(tx, round.id, 'committed'))) return true;
    if (tree !== undefined) await storeTree(tx, round.id, tree);
    await voidCommitted(tx, app, round, reason, undrawnAudit(round, landed, reason));
    return true;
  });
}

async function drawBy(app: App, round: Committed, landed: Landed, signature: string, patient: boolean): Promise<boolean> {
  const { id, parameters, root } = round;
  if (root === null) throw new Error(`round ${id} is committed to, and has no root`);
  const committed = { ...landed, root, signature };
  const judgement = await judgeApart(round.entries, { parameters, committed }, entryChunks(app.db, id));
  if (judgement.is === 'other') {
    app.log.error({ round: id }, 'the entries of a round are not those that were committed to');
    return patient ? await later(app, round, BROKEN_MS) : await end(app, round, 'entries-differ', landed, judgement.tree);
  }
  if (judgement.is === 'wrong') {
    app.log.error({ round: id, ...judgement }, 'a draw does not stand up to its own verification: nothing of it is published');
    return await later(app, round, BROKEN_MS);
  }
  await app.tx((tx) => publish(app, tx, round, judgement.audit));
  return true;
}

const finalize = statement<{ id: string }>(
  'finalize_round',
  `update rounds set state = 'finalized', audit = $2, ended_at = app_now() where id = $1 and state = 'committed' returning id::text`,
);
const insertWinners = statement(
  'insert_round_winners',
  `insert into round_winners (round, place, index, wallet, matches, amount, mint)
   select $1, w.* from unnest($2::int[], $3::int[], $4::text[], $5::int[], $6::numeric[], $7::text[]) as w(place, index, wallet, matches, amount, mint)`,
);

/** Publishes a draw and owes its prizes, once. */
async function publish(app: App, tx: Tx, round: Committed, audit: Audit): Promise<void> {
  const { id, kind } = round;
  if ((await tx.query(finalize, [id, auditText(audit)])).length === 0) return;
  const winners = (audit.winners ?? []).map((winner) => ({
    ...winner,
    amount: BigInt(winner.prize.amount),
    mint: currencyOf(app, winner.prize.mint),
  }));
  // Of a round of free tickets there is a winner, and nothing to pay.
  const paid = winners.filter(({ amount }) => amount > 0n);
  const column = <Key extends 'place' | 'index' | 'wallet' | 'matches' | 'mint'>(key: Key) => paid.map((winner) => winner[key]);
  const amounts = paid.map(({ amount }) => String(amount));
  await tx.query(insertWinners, [id, column('place'), column('index'), column('wallet'), column('matches'), amounts, column('mint')]);
  const debts = paid.map(({ place, wallet, amount, mint }) => ({ wallet, currency: mint, amount, cause: { kind: 'prize', id: `${id}:${place}` } }));
  await owe(app, tx, debts);
  const winningTicket = kind === 'legacy' ? (audit.draw?.drawn[0] ?? null) : null;
  tx.emit(roundFinalized, { roundId: id, kind, numbers: audit.draw?.numbers ?? [], winningTicket, winners: winners.length });
  tx.emitAll(
    winnerAnnounced,
    winners.map(({ place, wallet, mint, prize }) => ({ roundId: id, kind, place, wallet, prize: { amount: prize.amount, mint } })),
  );
}

/** @throws for a mint that is not (or no longer) one of ours: nothing is published then */
function currencyOf(app: App, mint: string): Currency {
  const currency = (['usdc', 'reward'] as const).find((one) => mintOf(app, one).toBase58() === mint);
  if (!currency) throw new Error(`a prize is in mint ${mint}, which nothing is paid in`);
  return currency;
}
