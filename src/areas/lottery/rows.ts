import type { VoidReason } from '#lib/draw/audit.ts';
import type { RoundParameters } from '#lib/draw/parameters.ts';
import type { SignedAnnouncement, SignedClosed } from '#lib/draw/statements.ts';
import { queryBuilder } from '#platform/db/query-builder.ts';
import { instant, type Queryable, statement } from '#platform/db/sql.ts';
import { lotteryTables, type ROUND_STATES } from './entities.ts';
import type { EntryRuleTerms, PrizeTerms } from './terms.ts';

/** Builds queries of the tables of this area. */
export const build = queryBuilder(lotteryTables);

export type RoundState = (typeof ROUND_STATES)[number];
export type RoundKind = 'chat' | 'legacy';

/** A round as stored in the table `rounds`. Times are ISO 8601 in UTC, to the millisecond. */
export interface RoundRow {
  id: string;
  kind: RoundKind;
  state: RoundState;
  title: string | null;
  createdBy: string;
  picks: number | null;
  range: number | null;
  maxEntriesPerWallet: number | null;
  prizes: readonly PrizeTerms[] | null;
  entryRules: EntryRuleTerms;
  durationSec: number | null;
  ticketPrice: string | null;
  maxTickets: number | null;
  parameters: RoundParameters | null;
  parametersHash: string | null;
  announcement: SignedAnnouncement | null;
  closed: SignedClosed | null;
  opensAt: string | null;
  closesAt: string | null;
  entries: number;
  /** Running hash after the last entry, hex; null before the round opens. */
  runningHash: string | null;
  /** Hex. */
  root: string | null;
  beaconRound: number | null;
  beaconDueAt: string | null;
  voidReason: VoidReason | null;
  /** The finalized commitment; null before it is recorded. */
  commitment: { account: string; signature: string | null; slot: number; leaf: string } | null;
  /** Whether the round is still in state `committed` more than `drawWithinSec` after the randomness beacon should have published its value. */
  overdue: boolean;
  createdAt: string;
  closedAt: string | null;
  committedAt: string | null;
  endedAt: string | null;
}

/** Columns of a `RoundRow`: all columns except the audit. `r` is the alias of the table `rounds`. */
export const ROUND_COLUMNS = `r.id::text, r.kind, r.state, r.title, r.created_by as "createdBy", r.picks, r.range, r.max_entries_per_wallet as "maxEntriesPerWallet",
  r.prizes, r.entry_rules as "entryRules", r.duration_sec as "durationSec", r.ticket_price::text as "ticketPrice", r.max_tickets::float8 as "maxTickets", r.parameters,
  r.parameters_hash as "parametersHash", r.announcement, r.closed, encode(r.running_hash, 'hex') as "runningHash", ${instant('r.opens_at')} as "opensAt", ${instant('least(r.closes_at, r.closed_at)')} as "closesAt", r.entries, encode(r.root, 'hex') as root,
  r.beacon_round::float8 as "beaconRound", ${instant('r.beacon_due_at')} as "beaconDueAt", r.void_reason as "voidReason",
  (select json_build_object('account', c.account, 'signature', c.signature, 'slot', c.slot, 'leaf', encode(c.leaf, 'hex'))
   from commitments c where c.round = r.id) as commitment,
  r.state = 'committed' and r.beacon_due_at < (select app_now()) - make_interval(secs => coalesce((r.parameters->>'drawWithinSec')::int, 3600)) as overdue,
  ${instant('r.created_at')} as "createdAt", ${instant('r.closed_at')} as "closedAt", ${instant('r.committed_at')} as "committedAt", ${instant('r.ended_at')} as "endedAt"`;

const byId = statement<RoundRow>('read_round', `select ${ROUND_COLUMNS} from rounds r where r.id = $1 and ($2::text is null or r.kind = $2)`);

/**
 * Reads a round.
 * @param kind required kind of the round; null accepts both kinds
 */
export async function readRound(db: Queryable, id: string, kind: RoundKind | null = null): Promise<RoundRow | undefined> {
  return (await db.query(byId, [id, kind]))[0];
}

const byIds = statement<RoundRow>('read_rounds', `select ${ROUND_COLUMNS} from rounds r where r.id = any($1::uuid[])`);

/** Reads rounds in any order. Unknown ids are omitted. */
export const readRounds = (db: Queryable, ids: readonly string[]): Promise<RoundRow[]> => db.query(byIds, [ids]);

const active = statement<RoundRow>('read_active_chat_round', `select ${ROUND_COLUMNS} from rounds r where r.kind = 'chat' and r.state = 'active'`);

/** Reads the active chat round. The round may be past its closing time, because it stays active until a job closes it. */
export async function readActiveChatRound(db: Queryable): Promise<RoundRow | undefined> {
  return (await db.query(active))[0];
}

/**
 * SQL expression: the id of the chat round that is active; without an active one, of the newest one that is closed and not drawn yet; null without
 * both.
 */
export const CURRENT_CHAT_ROUND = `(select c.id from (values (1, 'active'), (2, 'closing'), (2, 'committed')) as s(place, state)
  cross join lateral (
    select id, created_at from rounds where kind = 'chat' and state = s.state order by created_at desc, id desc limit 1) c
  order by s.place, c.created_at desc, c.id desc limit 1)`;

/** A chat round that is active, or closed and not drawn yet. */
export interface OpenChatRound {
  readonly id: string;
  readonly state: 'active' | 'closing' | 'committed';
  readonly title: string;
  readonly opensAt: string;
  readonly closesAt: string;
}
/** Maximum rounds that `listOpenChatRounds` returns. */
export const MAX_OPEN_CHAT_ROUNDS = 10;
const openChat = statement<OpenChatRound>(
  'list_open_chat_rounds',
  `select r.id::text, r.state, r.title, ${instant('r.opens_at')} as "opensAt", ${instant('least(r.closes_at, r.closed_at)')} as "closesAt"
   from (values ('active'), ('closing'), ('committed')) as s(state)
   cross join lateral (
     select * from rounds where kind = 'chat' and state = s.state order by created_at desc, id desc limit ${MAX_OPEN_CHAT_ROUNDS}) r
   order by r.state = 'active' desc, r.created_at desc, r.id desc limit ${MAX_OPEN_CHAT_ROUNDS}`,
);

/** Lists the chat rounds that are active or not drawn yet, at most `MAX_OPEN_CHAT_ROUNDS`: the active one, then the newest ones. */
export const listOpenChatRounds = (db: Queryable): Promise<OpenChatRound[]> => db.query(openChat);

const readClock = statement<{ now: number }>('read_clock_ms', 'select floor(extract(epoch from app_now()) * 1000)::float8 as now');

/** Reads the database's clock, ms since 1970. */
export async function readDatabaseClock(db: Queryable): Promise<number> {
  const [row] = await db.query(readClock);
  if (!row) throw new Error('the database returned no time');
  return row.now;
}
