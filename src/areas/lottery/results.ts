import { type NotNull, sql } from 'kysely';
import { type Payment, paymentId, readPaymentsByCause } from '#areas/payouts';
import { Audit } from '#lib/draw/audit.ts';
import { parseMemo } from '#lib/draw/commitment.ts';
import { isoInstant, run } from '#platform/db/query-builder.ts';
import { type Queryable, statement } from '#platform/db/sql.ts';
import { notAvailable, readRoundStatus, roundNotFound } from './published.ts';
import { build } from './rows.ts';
import type { PrizeTerms } from './terms.ts';

const StoredAudit = Audit.omit({ entryHashes: true });
const chatRounds = build.selectFrom('rounds').where('kind', '=', 'chat');
const auditIfFinalized = sql<string | null>`case when state = 'finalized' then audit end`.as('audit');

/**
 * Reads the winning numbers of a chat round and the values from which they were derived.
 * @throws 404 when the round does not exist or is not finalized
 */
export async function readNumbers(db: Queryable, id: string) {
  const [round] = await run(db, chatRounds.select(['state', 'void_reason as voidReason', auditIfFinalized]).where('id', '=', id));
  if (!round) throw roundNotFound('chat', id);
  if (round.audit === null) throw notAvailable({ id, ...round }, 'winning numbers', 'when it is finalized');
  const { commitment, beacon, draw } = StoredAudit.parse(JSON.parse(round.audit));
  const committed = commitment && parseMemo(commitment.memo);
  if (!committed || !beacon?.signature || !beacon.randomness || !draw) throw new Error(`the audit of round ${id} has no draw`);
  const { sequence, memo, signature, slot, blockhash, blockTime } = commitment;
  const { entriesRoot, parametersHash, chainHash, beaconRound } = committed;
  const { seed, label, draws, drawn, numbers } = draw;
  return {
    round: id,
    numbers,
    proof: {
      ...{ seed, label, draws, drawn },
      seedFrom: {
        label: 'coinop/draw/1' as const,
        ...{ round: id, entriesRoot, parametersHash, chainHash, beaconRound, randomness: beacon.randomness, blockhash },
      },
      beacon: { publicKey: beacon.publicKey, signature: beacon.signature, dueAt: beacon.dueAt },
      commitment: { sequence, memo, signature, slot, blockTime },
    },
  };
}

/** A winner of a chat round, with the prize. */
interface DrawnWinner {
  place: number;
  wallet: string;
  /** The prize, with the `address` of its mint. */
  prize: PrizeTerms & { readonly address: string };
  entryId: string;
  entryIndex: number;
  matches: number;
}
const selectWinners = statement<DrawnWinner>(
  'select_winners',
  `select w.place, w.wallet, e.id::text as "entryId", w.index as "entryIndex", w.matches,
     json_build_object('amount', w.amount::text, 'mint', w.mint, 'address', r.parameters->'prizes'->(w.place - 1)->>'mint') as prize
   from round_winners w join rounds r on r.id = w.round join entries e on e.round = w.round and e.index = w.index
   where w.round = $1 order by w.place`,
);

/**
 * Reads the winners of a chat round, first place first.
 * @param result word that the error message uses for the winners
 * @throws 404 when the round does not exist or is not finalized
 */
export async function readWinners(db: Queryable, id: string, result = 'winners'): Promise<DrawnWinner[]> {
  const round = await readRoundStatus(db, 'chat', id);
  if (round.state !== 'finalized') throw notAvailable(round, result, 'when it is finalized');
  return await db.query(selectWinners, [id]);
}

/** Reads the payments of a chat round's prizes. @throws 404 when the round does not exist or is not finalized */
export async function readPayouts(db: Queryable, id: string) {
  const winners = await readWinners(db, id, 'payouts');
  const causes = winners.map(({ place }) => `${id}:${place}`);
  const payments = await readPaymentsByCause(db, 'prize', causes);
  const payouts = winners.map(({ place, wallet, prize }, i) => {
    const cause = causes[i] ?? '';
    const { status = 'pending', signature = null, completedAt = null }: Partial<Payment> = payments.get(cause) ?? {};
    return { place, wallet, prize, paymentId: paymentId({ kind: 'prize', id: cause }), status, signature, completedAt };
  });
  const isDone = payouts.every(({ status }) => status === 'completed');
  return {
    round: id,
    status: payouts.length === 0 ? ('none' as const) : isDone ? ('completed' as const) : ('pending' as const),
    signatures: [...new Set(payouts.flatMap(({ signature }) => signature ?? []))],
    payouts,
  };
}

const finalized = chatRounds.where('state', '=', 'finalized');

/**
 * Builds the query for a page of drawn chat rounds, newest first. Reads the audits of these rounds only. A check of the table says that a chat round
 * has a title and prizes.
 */
const finalizedPage = (limit: number, offset: number) =>
  build
    .selectFrom(finalized.select('id').orderBy('ended_at', 'desc').orderBy('id').limit(limit).offset(offset).as('page'))
    .innerJoin('rounds as r', 'r.id', 'page.id')
    .innerJoin('commitments as c', 'c.round', 'r.id')
    .select([
      'r.id',
      'r.title',
      sql<number[]>`r.audit::json->'draw'->'numbers'`.as('numbers'),
      'r.entries',
      'r.prizes',
      sql<number>`c.sequence::float8`.as('sequence'),
      sql<number>`(select count(*)::int from round_winners w where w.round = r.id)`.as('winners'),
      isoInstant('r.ended_at').as('endedAt'),
    ])
    .orderBy('r.ended_at', 'desc')
    .orderBy('r.id')
    .$narrowType<{ title: NotNull; prizes: NotNull }>();

/** Reads a page of drawn chat rounds, newest first, and their total number. */
export async function listFinalized(db: Queryable, limit: number, offset: number) {
  const count = finalized.select(sql<number>`count(*)::int`.as('n'));
  const [rounds, [counted]] = await Promise.all([run(db, finalizedPage(limit, offset)), run(db, count)]);
  return { rounds, total: counted?.n ?? 0 };
}
