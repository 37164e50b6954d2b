import { type Payment, paymentId, readPaymentsByCause } from '#areas/payouts';
import { Audit } from '#lib/draw/audit.ts';
import { parseMemo } from '#lib/draw/commitment.ts';
import { instant, type Queryable, statement } from '#platform/db/sql.ts';
import { notAvailable, type RoundStatus, readRoundStatus, roundNotFound } from './published.ts';
import type { PrizeTerms } from './rows.ts';

const StoredAudit = Audit.omit({ entryHashes: true });
const selectDrawn = statement<Pick<RoundStatus, 'state' | 'voidReason'> & { audit: string | null }>(
  'select_drawn_round',
  `select state, void_reason as "voidReason", case when state = 'finalized' then audit end as audit from rounds where id = $1 and kind = 'chat'`,
);

/**
 * Reads the winning numbers of a chat round and the values from which they were derived.
 * @throws 404 when the round does not exist or is not finalized
 */
export async function readNumbers(db: Queryable, id: string) {
  const round = (await db.query(selectDrawn, [id]))[0];
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

interface FinalizedRow {
  id: string;
  title: string;
  numbers: number[];
  entries: number;
  winners: number;
  prizes: PrizeTerms[];
  sequence: number;
  endedAt: string;
}
const selectFinalized = statement<FinalizedRow>(
  'select_finalized_rounds',
  `select r.id::text, r.title, r.audit::json->'draw'->'numbers' as numbers, r.entries, r.prizes, c.sequence::float8 as sequence,
     (select count(*)::int from round_winners w where w.round = r.id) as winners,
     ${instant('r.ended_at')} as "endedAt"
   from (select id from rounds where kind = 'chat' and state = 'finalized' order by ended_at desc, id limit $1 offset $2) page
   join rounds r using (id) join commitments c on c.round = r.id order by r.ended_at desc, r.id`,
);
const countFinalized = statement<{ n: number }>(
  'count_finalized_rounds',
  `select count(*)::int as n from rounds where kind = 'chat' and state = 'finalized'`,
);

/** Reads a page of drawn chat rounds, newest first, and their total number. */
export async function listFinalized(db: Queryable, limit: number, offset: number): Promise<{ rounds: FinalizedRow[]; total: number }> {
  const [rounds, count] = await Promise.all([db.query(selectFinalized, [limit, offset]), db.query(countFinalized)]);
  return { rounds, total: count[0]?.n ?? 0 };
}
