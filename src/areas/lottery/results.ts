import { type NotNull, sql } from 'kysely';
import { type Payment, paymentId, readPaidBatches, readPaymentsByCause } from '#areas/payouts';
import { Audit } from '#lib/draw/audit.ts';
import { isoInstant, run } from '#platform/db/query-builder.ts';
import { type Queryable, statement } from '#platform/db/sql.ts';
import { notAvailable, readRoundStatus, roundNotFound } from './published.ts';
import { build, type RoundKind } from './rows.ts';
import type { PrizeTerms } from './terms.ts';

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
  const { commitment, beacon, draw } = Audit.parse(JSON.parse(round.audit));
  if (!commitment?.blockhash || !beacon?.signature || !beacon.randomness || !draw) throw new Error(`the audit of round ${id} has no draw`);
  const { account, beaconRound, leaf, slot, blockhash, at } = commitment;
  const { chainHash, randomness } = beacon;
  const { seed, label, draws, drawn, numbers } = draw;
  return {
    round: id,
    numbers,
    proof: {
      ...{ seed, label, draws, drawn },
      seedFrom: {
        label: 'coinop/draw/2' as const,
        ...{ round: id, leaf, chainHash, beaconRound, randomness, blockhash },
      },
      beacon: { publicKey: beacon.publicKey, signature: beacon.signature, dueAt: beacon.dueAt },
      commitment: { account, slot, at },
    },
  };
}

/** A winner of a round, with the prize. */
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
     json_build_object('amount', w.amount::text, 'mint', w.mint,
       'address', coalesce(r.parameters->>'mint', r.parameters->'prizes'->(w.place - 1)->>'mint')) as prize
   from round_winners w join rounds r on r.id = w.round join entries e on e.round = w.round and e.index = w.index
   where w.round = $1 order by w.place`,
);

/**
 * Reads the winners of a round that have a prize, first place first.
 * @param result word that the error message uses for the winners
 * @throws 404 when the round does not exist or is not finalized
 */
export async function readWinners(db: Queryable, kind: RoundKind, id: string, result = 'winners'): Promise<DrawnWinner[]> {
  const round = await readRoundStatus(db, kind, id);
  if (round.state !== 'finalized') throw notAvailable(round, result, 'when it is finalized');
  return await db.query(selectWinners, [id]);
}

/**
 * Reads the payments of a round's prizes, and all members of the batches that paid them.
 * @throws 404 when the round does not exist or is not finalized
 */
export async function readPayouts(db: Queryable, kind: RoundKind, id: string) {
  const winners = await readWinners(db, kind, id, 'payouts');
  const causes = winners.map(({ place }) => `${id}:${place}`);
  const ids = causes.map((cause) => paymentId({ kind: 'prize', id: cause }));
  const [payments, batches] = await Promise.all([readPaymentsByCause(db, 'prize', causes), readPaidBatches(db, ids)]);
  const payouts = winners.map(({ place, wallet, prize }, i) => {
    const { status = 'pending', signature = null, completedAt = null }: Partial<Payment> = payments.get(causes[i] ?? '') ?? {};
    const batch = status === 'completed' && signature !== null ? (batches.get(signature) ?? null) : null;
    const { amount, address: mint } = prize;
    const paid = { signature: batch?.signature ?? null, batch: batch?.id ?? null, completedAt };
    return { place, wallet, prize, amount, mint, paymentId: ids[i] ?? '', status, ...paid };
  });
  const isDone = payouts.every(({ status }) => status === 'completed');
  return {
    round: id,
    status: payouts.length === 0 ? ('none' as const) : isDone ? ('completed' as const) : ('pending' as const),
    signatures: [...new Set(payouts.flatMap(({ signature }) => signature ?? []))],
    payouts,
    batches: [...batches.values()].map(({ id: batch, members }) => ({ id: batch, members: [...members] })),
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
    .select([
      'r.id',
      'r.title',
      sql<number[]>`r.audit::json->'draw'->'numbers'`.as('numbers'),
      'r.entries',
      'r.prizes',
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
