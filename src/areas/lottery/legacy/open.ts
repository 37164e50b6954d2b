import { sql } from 'kysely';
import type { LegacyParameters } from '#lib/draw/parameters.ts';
import { fail } from '#lib/errors.ts';
import { newId } from '#lib/ids.ts';
import type { App } from '#platform/app.ts';
import { tooManyRequests } from '#platform/auth/rate-limit.ts';
import { run } from '#platform/db/query-builder.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { openedColumns, openingOf, sharedParameters } from '../create.ts';
import type { Draws } from '../draws/account.ts';
import { frozenRules } from '../entry-rules.ts';
import { roundStarted } from '../events.ts';
import { build, type RoundRow, readRound } from '../rows.ts';
import type { EntryRuleTerms } from '../terms.ts';
import type { LegacyRoundTerms } from './schemas.ts';

const DAY_MS = 86_400_000;
const MAX_OPEN_MS = 30 * DAY_MS;

// Makes concurrent requests wait for each other, so that the counts of rounds are exact.
const lockOpening = statement('lock_legacy_opening', `select pg_advisory_xact_lock(hashtext('coinop-legacy-rounds'))`);
interface OpenedRounds {
  /** Rounds of the wallet that are not drawn yet. */
  readonly unfinished: number;
  /** Rounds that the wallet, and all wallets together, opened on this UTC day, closed and drawn ones included. */
  readonly own: number;
  readonly all: number;
  /** Current time, ms since 1970. */
  readonly now: number;
  /** Seconds until the next UTC day. */
  readonly leftSec: number;
}
const readOpened = statement<OpenedRounds>(
  'read_opened_legacy_rounds',
  `with today as materialized (select app_now() as now, date_trunc('day', app_now(), 'UTC') as begin)
   select (select count(*)::int from rounds where created_by = $1 and kind = 'legacy' and state in ('active', 'closing', 'committed')) as unfinished,
     (select count(*)::int from rounds where created_by = $1 and kind = 'legacy' and created_at >= today.begin) as own,
     (select count(*)::int from rounds where kind = 'legacy' and created_at >= today.begin) as all,
     floor(extract(epoch from now) * 1000)::float8 as now, ceil(extract(epoch from today.begin + interval '1 day' - now))::int as "leftSec"
   from today`,
);

/** Checks that a wallet may open a round. Each round costs the rent of its commitment, so the number of rounds is bounded. */
function requireAllowed({ config }: Pick<App, 'config'>, ticketPrice: string, opened: OpenedRounds): void {
  const { allowed, unfinished, perWallet, perDay } = config.legacyRounds;
  if (allowed === 'off') throw fail(403, 'rounds of wallets are switched off');
  if (allowed === 'paid' && ticketPrice === '0') throw fail(403, 'ticketPrice must not be 0, because rounds of free tickets are switched off');
  if (opened.unfinished >= unfinished) throw fail(409, `a wallet can have at most ${unfinished} rounds that are not drawn yet`);
  const perUtcDay = { windowMs: 86_400_000, waitMs: opened.leftSec * 1_000 };
  if (opened.own >= perWallet)
    throw tooManyRequests(`a wallet can open at most ${perWallet} rounds per UTC day`, { name: 'rounds-of-wallet', quota: perWallet, ...perUtcDay });
  if (opened.all >= perDay)
    throw tooManyRequests(`all wallets together can open at most ${perDay} rounds per UTC day`, { name: 'rounds', quota: perDay, ...perUtcDay });
}

/**
 * Opens a legacy round for a wallet and freezes its parameters.
 * @throws 400 when `closesAt` is not within the next 30 days; 403 when rounds of wallets are switched off; 409 when the wallet has too many rounds
 * that are not drawn yet; 429 when the limit of a day is reached
 */
export async function openRound(
  app: App,
  tx: Tx,
  draws: Draws,
  wallet: string,
  { ticketPrice, maxTickets, closesAt, entryRules }: LegacyRoundTerms,
): Promise<RoundRow> {
  await tx.query(lockOpening);
  const [opened] = await tx.query(readOpened, [wallet]);
  if (!opened) throw new Error('the database returned no counts of rounds');
  requireAllowed(app, ticketPrice, opened);
  const { now } = opened;
  const closes = closesAt === undefined ? now + DAY_MS : Date.parse(closesAt);
  if (!(closes > now && closes <= now + MAX_OPEN_MS)) throw fail(400, 'closesAt must be in the future and at most 30 days ahead');

  const parameters: LegacyParameters = {
    ...{ kind: 'legacy', ticketPrice, mint: app.chain.usdcMint.toBase58() },
    ...{ maxTickets: maxTickets ?? null, maxTicketsPerWallet: ticketPrice === '0' ? 1 : null },
    ...sharedParameters(app, draws, newId(), now, closes),
    entryRules: frozenRules(app, entryRules),
  };
  const { round } = parameters;
  const opening = openingOf(app, parameters);
  const terms = {
    ...{ created_by: wallet, ticket_price: ticketPrice, max_tickets: maxTickets?.toString() ?? null },
    entry_rules: sql<EntryRuleTerms>`${JSON.stringify(entryRules)}`,
  };
  await run(tx, build.insertInto('rounds').values({ id: round, kind: 'legacy', state: 'active', ...terms, ...openedColumns(opening) }));
  tx.emit(roundStarted, { roundId: round, kind: 'legacy', title: null, opensAt: parameters.opensAt, closesAt: parameters.closesAt, ...opening });
  const row = await readRound(tx, round, 'legacy');
  if (!row) throw new Error(`round ${round} was inserted but cannot be read`);
  return row;
}
